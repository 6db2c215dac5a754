"""A gateway at noon, half a minute later, on the small network."""

from __future__ import annotations

import pytest
from flask import Flask

from app.db.database import Database
from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import change_part, editing_of
from tests.databases import SharedDatabase
from tests.estimates.services.estimate_kit import NOON
from tests.network.services.network_kit import network, text


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    change_part(app, Database, clock=lambda: NOON)
    shared_database.fill(
        "tests.estimates", lambda: import_network(*editing_of(app), text(network()), actor=TESTER)
    )
    return app
