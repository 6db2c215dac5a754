"""The console on an empty database, with a clock that the test moves."""

from __future__ import annotations

from functools import partial

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import NO_APPROVALS
from app.network.document import import_network
from config import ALL_DOORS
from tests.actors import TESTER
from tests.applications import Applications, OpenApp, audited_of, cheap_passwords
from tests.builders.clock import MovableClock
from tests.console.visitor import NOW, Visitor, signed_in
from tests.databases import SharedDatabase
from tests.network.services.network_kit import network as small_network
from tests.network.services.network_kit import text
from tests.sandboxes import load_into


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in applications that a test makes itself."""
    cheap_passwords(monkeypatch)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def open_app(applications: Applications, shared_database: SharedDatabase, clock: MovableClock) -> OpenApp:
    """Gives applications with the console on the test's database."""
    return partial(applications.opener(shared_database, clock), doors=ALL_DOORS)


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    """Without a context around the test: requests would share its ``g``, and with it who is signed in."""
    return open_app()


@pytest.fixture
def sandbox(app: Flask, shared_database: SharedDatabase) -> Flask:
    """The application with the sandbox in it."""

    def fill() -> None:
        with app.app_context():
            load_into(app)

    shared_database.fill("tests.console sandbox", fill)
    return app


@pytest.fixture
def network(app: Flask, shared_database: SharedDatabase) -> Flask:
    """The application with the small network of the services' tests."""
    edits = *audited_of(app), NO_APPROVALS
    shared_database.fill(
        "tests.console network", lambda: import_network(*edits, text(small_network()), actor=TESTER)
    )
    return app


@pytest.fixture
def viewer(app: Flask) -> Visitor:
    return signed_in(app, Role.VIEWER)


@pytest.fixture
def admin(app: Flask) -> Visitor:
    return signed_in(app, Role.ADMIN)


@pytest.fixture
def operator(app: Flask, network: Flask) -> Visitor:
    """An operator at the small network."""
    return signed_in(app, Role.OPERATOR)
