"""What the clients of the tests talk to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.credentials.services.issuing import issue, new_key
from tests.actors import TESTER
from tests.applications import application, editing_of
from tests.clients import workshop
from tests.clients.stage import Stage, running
from tests.deploy.nginx import PLACES, PUBLIC, proxying
from tests.grpcweb.node import node
from tests.programs import anvil
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server

ThroughNginx = Callable[[int], str]
"""The address of the nginx in front of a gateway's port."""


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
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the TypeScript client."""
    node()
    return workshop.tarball(tmp_path_factory.mktemp("tarball"))


@pytest.fixture
def through_nginx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThroughNginx]:
    """Puts the shipped nginx in front of a port; the clients trust its certificate."""
    with ExitStack() as stack:

        def behind(port: int) -> str:
            folder = tmp_path / "nginx"
            folder.mkdir()
            nginx = stack.enter_context(proxying(folder, dict.fromkeys(PLACES.values(), port)))
            certificate = str(folder / "gateway-place/tls/fullchain.pem")
            for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
                monkeypatch.setenv(name, certificate)
            return f"https://localhost:{nginx.ports[PUBLIC]}"

        yield behind


@pytest.fixture(scope="package")
def key(sandbox: Path, server: Server) -> str:
    """An API key of that gateway, which may have webhooks."""
    assert server.process.poll() is None
    with application(f"sqlite:///{sandbox / 'gateway.db'}") as app:
        return issue(*editing_of(app), new_key("follower", ("webhooks",)), actor=TESTER).text
