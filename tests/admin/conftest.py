"""The console on an empty database, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from app import create_app
from app.admin.sign_in import setup
from app.domain.operators import Role
from app.runtime.gateway import Gateway
from app.sandbox.loader import load_sandbox
from app.services.network.document import import_network
from config import ALL_DOORS
from tests.actors import TESTER
from tests.admin.visitor import CHEAP, MovableClock, Visitor, gateway_of, signed_in
from tests.conftest import close_connections, make_settings
from tests.services.network.network_kit import network as small_network
from tests.services.network.network_kit import text


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console verifies what ``visitor`` hashes, and sees no need to hash it again."""
    options = {f"argon2__{name}": value for name, value in CHEAP.items()}
    monkeypatch.setitem(setup._SETTINGS, "PASSWORD_HASH_PASSLIB_OPTIONS", options)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(database_url: str, clock: MovableClock) -> Iterator[Flask]:
    """Without a context around the test: requests would share its ``g``, and with it who is signed in."""
    application = create_app(make_settings(database_url, doors=ALL_DOORS), clock=clock)
    yield application
    with application.app_context():
        close_connections()


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    return gateway_of(app)


@pytest.fixture
def sandbox(app: Flask) -> Gateway:
    """The gateway with the sandbox in it."""
    with app.app_context():
        load_sandbox(gateway_of(app), actor=TESTER)
    return gateway_of(app)


@pytest.fixture
def network(gateway: Gateway) -> Gateway:
    """The gateway with the small network of the services' tests."""
    import_network(gateway, text(small_network()), actor=TESTER)
    return gateway


@pytest.fixture
def operator(app: Flask, network: Gateway) -> Visitor:
    """An operator at the small network."""
    return signed_in(app, Role.OPERATOR)
