"""Two linters of OpenAPI have nothing to say about the document, with the rules that they recommend."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.api.docs.views import document_bytes
from tests.grpcweb.node import ROOT, install, locked, node, run

SOURCES = Path(__file__).parent / "linters"
WORKSHOP = ROOT / ".tmp" / "openapi-linters"

pytestmark = [pytest.mark.slow, pytest.mark.system]


@pytest.fixture(scope="module")
def tools() -> Iterator[Path]:
    """The folder of the linters' programs, and of what they lint. Other processes wait meanwhile."""
    WORKSHOP.mkdir(parents=True, exist_ok=True)
    with locked(WORKSHOP / "lock"):
        install(node(), SOURCES, WORKSHOP)
        yield WORKSHOP


@pytest.fixture(params=[True, False], ids=["lenient", "strict"])
def document(tools: Path, request: pytest.FixtureRequest) -> Path:
    """With all that a gateway can serve."""
    file = tools / "openapi.json"
    file.write_bytes(document_bytes(compat_clients=request.param, waiting=True, sandbox=True))
    return file


def test_redocly_finds_nothing(tools: Path, document: Path) -> None:
    settings = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    redocly = str(tools / "node_modules" / ".bin" / "redocly")
    found = json.loads(run(redocly, "lint", document.name, "--format=json", cwd=tools, env=settings))
    assert found["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_spectral_finds_nothing(tools: Path, document: Path) -> None:
    spectral = str(tools / "node_modules" / ".bin" / "spectral")
    command = (spectral, "lint", document.name, "--ruleset", "spectral.yaml", "--format=json", "--quiet")
    assert json.loads(run(*command, "--fail-severity=hint", cwd=tools)) == []
