"""The site as `make docs` builds it, and a gateway to run the snippets against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config import DOCS_SITE
from scripts.docs_site.build import ensure_site
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server


@pytest.fixture(scope="session")
def site() -> Path:
    """The site of this repository, where `make docs` puts it: built once, until a page changes."""
    ensure_site()
    return DOCS_SITE


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    """A gateway with the sandbox, as the quick start has one."""
    with serving_sandbox(tmp_path_factory.mktemp("site"), sqlite_template, WEB_CONCURRENCY="1") as running:
        yield running
