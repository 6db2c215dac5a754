"""A gateway at noon with the small network."""

from __future__ import annotations

import pytest
from flask import Flask

from app.network.document import import_network
from tests.actors import TESTER
from tests.databases import SharedDatabase
from tests.gateway import Gateway, current_gateway
from tests.network.services.edits.kit import NOON
from tests.network.services.network_kit import network, text


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase) -> Gateway:
    gateway = current_gateway().but(clock=lambda: NOON)
    shared_database.fill(
        "tests.network.services.edits",
        lambda: import_network(*gateway.editing, text(network()), actor=TESTER),
    )
    return gateway
