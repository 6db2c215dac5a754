"""A gateway at noon with the small network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from app.gateway import Gateway, current_gateway
from app.network.document import import_network
from tests.actors import TESTER
from tests.databases import SharedDatabase
from tests.services.network.edits.kit import NOON
from tests.services.network.network_kit import network, text


@pytest.fixture
def gateway(app: Flask, database: SharedDatabase) -> Gateway:
    gateway = replace(current_gateway(), clock=lambda: NOON)
    database.fill(
        "tests.services.network.edits", lambda: import_network(gateway, text(network()), actor=TESTER)
    )
    return gateway
