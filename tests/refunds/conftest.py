"""The gateway behind its HTTP interface, with the small network, its clock at NOW."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from app.db.database import Database
from app.http.application import part_of
from tests.applications import Applications
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, fill_network
from tests.refunds.kit import Gateway


@pytest.fixture
def app(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    application = applications.opener(shared_database, lambda: NOW)()
    fill_network(shared_database, part_of(application, Database).engine)
    with application.app_context():
        yield application


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    return Gateway(app.test_client(), app)
