"""Applications with the pages, at times that stand still: the small network, and the sandbox."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.sandbox.loader import load_sandbox
from tests.actors import TESTER
from tests.api.world import NOW, configure
from tests.applications import Applications, OpenApp, gateway_of
from tests.databases import SharedDatabase

SANDBOX_NOW = datetime(2026, 11, 21, 14, 5, 6, 700, tzinfo=UTC)


@pytest.fixture
def open_app(applications: Applications, database: SharedDatabase) -> OpenApp:
    """Gives applications with these settings on the test's database, at NOW."""
    return applications.opener(database, lambda: NOW)


@pytest.fixture
def app(open_app: OpenApp, database: SharedDatabase) -> Flask:
    """The usual application, its network configured."""
    app = open_app()
    database.fill("tests.api", lambda: configure(app))
    return app


@pytest.fixture
def sandbox(applications: Applications, database: SharedDatabase) -> FlaskClient:
    """A client of an application with the sandbox."""
    app = applications.opener(database, lambda: SANDBOX_NOW)()

    def fill() -> None:
        with app.app_context():
            load_sandbox(gateway_of(app), actor=TESTER)

    database.fill("tests.pages", fill)
    return app.test_client()
