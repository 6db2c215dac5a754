"""The sandbox, and built worlds, at times that stand still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.applications import Applications
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network
from tests.gateway import Gateway, current_gateway
from tests.sandboxes import SANDBOX_NOW, fill_sandbox


@pytest.fixture
def app(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    """Without the console: its pages are read, not served. Inside its context."""
    application = applications.opener(shared_database)()
    with application.app_context():
        yield application


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase) -> Gateway:
    """The small network at its NOW, without a transfer."""
    return small_network(shared_database, clock=lambda: NOW)


@pytest.fixture
def sandbox_app(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    """The application with the sandbox loaded, inside its context."""
    application = applications.opener(shared_database, lambda: SANDBOX_NOW)()
    with application.app_context():
        fill_sandbox(shared_database, current_gateway())
        yield application


@pytest.fixture
def sandbox(sandbox_app: Flask) -> Gateway:
    """The sandbox's gateway."""
    return current_gateway()
