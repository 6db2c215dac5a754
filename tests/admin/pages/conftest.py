"""The sandbox, and built worlds, at times that stand still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from flask import Flask

from app import create_app
from app.models.engine import writing
from app.runtime.gateway import Gateway, current_gateway
from app.sandbox.loader import load_sandbox
from tests.actors import TESTER
from tests.conftest import close_connections, make_settings
from tests.services.feed.world import NOW, build_network

SANDBOX_NOW = datetime(2026, 11, 21, 14, 5, 6, 700, tzinfo=UTC)


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    """The application inside its context: pages are read here without a request."""
    application = create_app(make_settings(database_url))
    with application.app_context():
        yield application
        close_connections()


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    """The small network at its NOW, without a transfer."""
    gateway = replace(current_gateway(), clock=lambda: NOW)
    with writing(gateway.engine) as connection:
        build_network(connection)
    return gateway


@pytest.fixture
def sandbox_app(database_url: str) -> Iterator[Flask]:
    """The application with the sandbox loaded, inside its context."""
    application = create_app(make_settings(database_url), clock=lambda: SANDBOX_NOW)
    with application.app_context():
        load_sandbox(current_gateway(), actor=TESTER)
        yield application
        close_connections()


@pytest.fixture
def sandbox(sandbox_app: Flask) -> Gateway:
    """The sandbox's gateway."""
    return current_gateway()
