"""Applications with the small network, at a time that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from tests.api.world import NOW, configure
from tests.conftest import close_connections, make_settings

OpenApp = Callable[..., Flask]


@pytest.fixture
def client_class() -> type[FlaskClient]:
    """How the tests ask; the tests of other doors ask there as well."""
    return FlaskClient


@pytest.fixture
def open_app(database_url: str, client_class: type[FlaskClient]) -> Iterator[OpenApp]:
    """Makes applications with these settings on the test's database, at NOW."""
    opened: list[Flask] = []

    def open_with(**changes: Any) -> Flask:
        app = create_app(
            make_settings(changes.pop("database_url", database_url), **changes), clock=lambda: NOW
        )
        app.test_client_class = client_class
        opened.append(app)
        return app

    yield open_with
    for app in opened:
        with app.app_context():
            close_connections()


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    """The usual application, its network configured."""
    app = open_app()
    configure(app)
    return app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()
