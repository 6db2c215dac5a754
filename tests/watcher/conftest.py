"""A gateway with the small network, and a chain of it to watch."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.databases import SharedDatabase
from tests.feed.services.world import small_network
from tests.gateway import Gateway
from tests.watcher.kit import Watched
from tests.watcher.services.world import Clock


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase) -> Gateway:
    return small_network(shared_database, clock=Clock(), max_reorg_blocks=50)


@pytest.fixture
def watched(gateway: Gateway) -> Watched:
    return Watched(gateway)
