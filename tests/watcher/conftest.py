"""A gateway with the small network, and a chain of it to watch."""

from __future__ import annotations

import pytest
from flask import Flask

from app.feed.services.ingest import Intake
from tests.applications import change_part
from tests.builders.clock import MovableClock
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network
from tests.watcher.kit import Watched


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase, clock: MovableClock) -> Flask:
    change_part(app, Intake, max_reorg_blocks=50)
    return small_network(app, shared_database, clock=clock)


@pytest.fixture
def watched(app: Flask) -> Watched:
    return Watched(app)
