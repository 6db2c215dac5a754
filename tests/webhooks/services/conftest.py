"""A gateway with the small network of the feed's tests, its clock at NOW."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)
