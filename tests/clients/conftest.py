"""What the clients of the tests talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.credentials.services.issuing import issue, new_key
from tests.actors import TESTER
from tests.applications import application
from tests.clients.stage import Stage, running
from tests.gateway import current_gateway
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
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has the database of the sandbox."""
    return tmp_path_factory.mktemp("sandbox")


@pytest.fixture(scope="package")
def server(sandbox: Path, sqlite_template: Path) -> Iterator[Server]:
    """A gateway with the sandbox, which serves waiting as well."""
    doors = "api,wait"
    with serving_sandbox(sandbox, sqlite_template, WEB_CONCURRENCY="1", DOORS=doors) as server:
        yield server


@pytest.fixture(scope="package")
def key(sandbox: Path, server: Server) -> str:
    """An API key of that gateway, which may have webhooks."""
    assert server.process.poll() is None
    with application(f"sqlite:///{sandbox / 'gateway.db'}"):
        return issue(*current_gateway().editing, new_key("follower", ("webhooks",)), actor=TESTER).text
