"""An application with the small network of the feed's tests, its clock at their time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.db.database import Database
from app.http.application import part_of
from tests.applications import Applications, OpenApp
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, fill_network


@pytest.fixture
def open_app(applications: Applications, shared_database: SharedDatabase) -> OpenApp:
    """Gives applications with these settings on the test's database, at NOW."""
    return applications.opener(shared_database, lambda: NOW)


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Iterator[Flask]:
    application = open_app()
    fill_network(shared_database, part_of(application, Database).engine)
    with application.app_context():
        yield application


@pytest.fixture
def open_interface(open_app: OpenApp) -> Callable[..., FlaskClient]:
    """Gives clients of applications with these settings on the test's database."""

    def open_with(**changes: Any) -> FlaskClient:
        return open_app(**changes).test_client()

    return open_with
