"""A gateway with the small network, and a chain of it to watch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from app.runtime.gateway import Gateway, current_gateway
from tests.databases import SharedDatabase
from tests.services.feed.world import fill_network
from tests.services.watching.world import Clock
from tests.watcher.kit import Watched


@pytest.fixture
def gateway(app: Flask, database: SharedDatabase) -> Gateway:
    gateway = replace(current_gateway(), clock=Clock(), max_reorg_blocks=50)
    fill_network(database, gateway.engine)
    return gateway


@pytest.fixture
def watched(gateway: Gateway) -> Watched:
    return Watched(gateway)
