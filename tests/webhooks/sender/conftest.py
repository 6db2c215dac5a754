"""A gateway with the small network, whose webhooks may go to this machine."""

from __future__ import annotations

import pytest
from flask import Flask

from app.http.application import add_part
from app.webhooks.rules.addresses import AllowedNetworks, parse_networks
from tests.builders.clock import MovableClock
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase, clock: MovableClock) -> Flask:
    add_part(app, AllowedNetworks, parse_networks(["127.0.0.0/8"]))
    return small_network(app, shared_database, clock=clock)
