"""A cluster with the sandbox in it, and the gateway on both of its servers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.db.database import Database
from app.db.replica import Replica
from app.http.application import part_of
from tests.applications import close_connections, make_settings
from tests.replicas.cluster import Cluster, cluster
from tests.sandboxes import load_into

TIMEOUT = 60.0


@pytest.fixture(scope="session")
def servers() -> Iterator[Cluster]:
    """One for all tests: those that kill a server restart it. Its folder holds sockets: a short name."""
    with tempfile.TemporaryDirectory(prefix="gw-") as folder, cluster(Path(folder)) as running:
        fill(running)
        yield running


def fill(servers: Cluster) -> None:
    """Load the sandbox."""
    app = create_app(make_settings(servers.primary.url))
    with app.app_context():
        upgrade(directory="migrations")
        load_into(app)
        close_connections()


@pytest.fixture
def cold_app(servers: Cluster) -> Iterator[Flask]:
    """The gateway on the primary and the replica. Nothing looks at the replica but the test."""
    settings = make_settings(servers.primary.url, database_replica_url=servers.replica.url)
    application = create_app(settings)
    with application.app_context():
        yield application
        close_connections()


@pytest.fixture
def app(cold_app: Flask) -> Iterator[Flask]:
    """The same, when the replica can be read."""
    replica = replica_of(part_of(cold_app, Database))
    eventually(replica.is_usable)
    yield cold_app
    replica.close()


def replica_of(database: Database) -> Replica:
    """The replica that it reads."""
    assert database.public.replica is not None
    return database.public.replica


def eventually(happens: Callable[[], bool], pause: float = 0.05) -> None:
    """Wait for something that other processes bring about, and look for it so many seconds apart."""
    deadline = time.monotonic() + TIMEOUT
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(pause)
