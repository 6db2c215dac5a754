"""What the clients of the tests talk to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.anvil import AnvilMissing, installed
from tests.clients.stage import Stage, running
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Stage]:
    """Two chains, the gateway, and the watcher that reads them; continuous integration needs them."""
    try:
        installed()
    except AnvilMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    with running(tmp_path_factory.mktemp("stage"), sqlite_template) as stage:
        yield stage


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    """A gateway with the sandbox."""
    folder = tmp_path_factory.mktemp("sandbox")
    with serving_sandbox(folder, sqlite_template, WEB_CONCURRENCY="1") as server:
        yield server
