"""A gateway with the small network, and its clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.applications import OpenApp
from tests.databases import SharedDatabase
from tests.feed.services.world import small_network
from tests.watcher.services.world import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase, clock: Clock) -> Iterator[Flask]:
    application = open_app()
    with application.app_context():
        yield small_network(application, shared_database, clock=clock)
