"""A gateway with the small network, and its clock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from app.runtime.gateway import Gateway, current_gateway
from tests.databases import SharedDatabase
from tests.services.feed.world import fill_network
from tests.services.watching.world import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(app: Flask, database: SharedDatabase, clock: Clock) -> Gateway:
    gateway = replace(current_gateway(), clock=clock)
    fill_network(database, gateway.engine)
    return gateway
