"""An application with the small network of the feed's tests, its clock at their time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.models.engine import writing
from app.runtime.gateway import Gateway, current_gateway
from tests.conftest import close_connections, make_settings
from tests.services.feed.world import NOW, build_network


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    application = create_app(make_settings(database_url), clock=lambda: NOW)
    with application.app_context():
        with writing(current_gateway().engine) as connection:
            build_network(connection)
        yield application
        close_connections()


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    return current_gateway()


@pytest.fixture
def open_door(database_url: str) -> Iterator[Callable[..., FlaskClient]]:
    """Makes clients of applications with these settings on the test's database."""
    opened: list[Flask] = []

    def open_with(**changes: Any) -> FlaskClient:
        application = create_app(make_settings(database_url, **changes), clock=lambda: NOW)
        opened.append(application)
        return application.test_client()

    yield open_with
    for application in opened:
        with application.app_context():
            close_connections()
