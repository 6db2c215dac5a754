"""The tests of docs/sandbox.md run as they stand, at a gateway that serves what they need, and it alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grpcweb.node import run
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import COMMAND, ROOT, Server, environment
from tests.site.snippets import blocks_of

RUN = [block for block in blocks_of("docs/sandbox.md") if block.heading == "Your own tests"]


def snippet(language: str) -> str:
    (found,) = [block.code for block in RUN if block.fence == language]
    return f"{found}\n"


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("controlled")
    settings = {"SANDBOX_CONTROLS": "1", "DOORS": "api,wait", "WEB_CONCURRENCY": "1"}
    with serving_sandbox(folder, sqlite_template, **settings) as server:
        yield server


def test_example_for_pytest(controlled: Server, tmp_path: Path) -> None:
    shown = "http://127.0.0.1:8000"
    assert shown in snippet("python")
    (tmp_path / "test_wallet.py").write_text(snippet("python").replace(shown, controlled.base))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", ".")
    printed = run(*command, cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert "2 passed" in printed


def test_answer_is_as_page_shows(controlled: Server) -> None:
    (command,) = re.findall(r"^curl .*advance .* -d '(.*)'$", snippet("sh"), re.MULTILINE)
    connection = controlled.connect()
    connection.request("POST", "/sandbox/v1/advance", command, {"Content-Type": "application/json"})
    answer = json.load(connection.getresponse())
    shown = json.loads(snippet("json"))
    assert answer | {"transfer_id": shown["transfer_id"]} == shown


def test_another_database_is_refused_at_the_start(tmp_path: Path, sqlite_template: Path) -> None:
    shutil.copy(sqlite_template, tmp_path / "gateway.db")
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 'gateway.db'}", "SANDBOX_CONTROLS": "1"}
    done = subprocess.run(
        [*COMMAND, "wsgi:app"], cwd=ROOT, env=environment(**settings), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert (
        "SANDBOX_CONTROLS: the database of DATABASE_URL is not a sandbox: unset SANDBOX_CONTROLS"
        in done.stderr
    )
