"""A gateway with the small network, and its clock."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.databases import SharedDatabase
from tests.feed.services.world import small_network
from tests.gateway import Gateway
from tests.watcher.services.world import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase, clock: Clock) -> Gateway:
    return small_network(shared_database, clock=clock)
