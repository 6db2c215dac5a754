"""Applications with the pages, at times that stand still: the small network, and the sandbox."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.api.world import NOW, configure
from tests.applications import Applications, OpenApp
from tests.databases import SharedDatabase
from tests.sandboxes import SANDBOX_NOW, fill_sandbox


@pytest.fixture
def open_app(applications: Applications, shared_database: SharedDatabase) -> OpenApp:
    """Gives applications with these settings on the test's database, at NOW."""
    return applications.opener(shared_database, lambda: NOW)


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Flask:
    """The usual application, its network configured."""
    app = open_app()
    shared_database.fill("tests.api", lambda: configure(app))
    return app


@pytest.fixture
def sandbox(applications: Applications, shared_database: SharedDatabase) -> FlaskClient:
    """A client of an application with the sandbox."""
    app = applications.opener(shared_database, lambda: SANDBOX_NOW)()
    with app.app_context():
        fill_sandbox(shared_database, app)
    return app.test_client()
