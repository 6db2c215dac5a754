"""What the clients of the tests talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.stage import Stage, running
from tests.programs import anvil
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Stage]:
    """Two chains, the gateway, and the watcher that reads them."""
    anvil()
    with running(tmp_path_factory.mktemp("stage"), sqlite_template) as stage:
        yield stage


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    """A gateway with the sandbox."""
    folder = tmp_path_factory.mktemp("sandbox")
    with serving_sandbox(folder, sqlite_template, WEB_CONCURRENCY="1") as server:
        yield server
