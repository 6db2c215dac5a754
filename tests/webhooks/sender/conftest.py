"""A gateway with the small network, whose webhooks may go to this machine."""

from __future__ import annotations

import pytest
from flask import Flask

from app.webhooks.rules.addresses import parse_networks
from tests.databases import SharedDatabase
from tests.feed.services.world import small_network
from tests.gateway import Gateway
from tests.webhooks.services.hooks import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase, clock: Clock) -> Gateway:
    return small_network(shared_database, clock=clock, allowed=parse_networks(["127.0.0.0/8"]))
