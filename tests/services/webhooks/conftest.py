"""A gateway with the small network of the feed's tests, its clock at NOW."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from app.runtime.gateway import Gateway, current_gateway
from tests.databases import SharedDatabase
from tests.services.feed.world import NOW, fill_network


@pytest.fixture
def gateway(app: Flask, database: SharedDatabase) -> Gateway:
    gateway = replace(current_gateway(), clock=lambda: NOW)
    fill_network(database, gateway.engine)
    return gateway
