"""The sandbox, and built worlds, at times that stand still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.applications import Applications
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network
from tests.sandboxes import SANDBOX_NOW, fill_sandbox


@pytest.fixture
def app(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    """The small network at its NOW, without a transfer, inside the context of the application.

    It is without the console: its pages are read, not served.
    """
    application = applications.opener(shared_database)()
    with application.app_context():
        yield small_network(application, shared_database, clock=lambda: NOW)


@pytest.fixture
def sandbox(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    """An application with the sandbox loaded, inside its context."""
    application = applications.opener(shared_database, lambda: SANDBOX_NOW)()
    with application.app_context():
        fill_sandbox(shared_database, application)
        yield application
