"""A gateway with the small network, its clock at NOW."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import select

from app import create_app
from app.db.database import Database
from app.db.engine import reading
from app.transfers.models import Transfer
from tests.applications import close_connections, make_settings
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network, transfer_id


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


@pytest.fixture
def own_database(empty_url: str) -> Iterator[Flask]:
    """A database that no other test uses, for its schema goes down and up."""
    application = create_app(make_settings(empty_url))
    with application.app_context():
        upgrade(directory="migrations")
        yield application
        close_connections()


@pytest.fixture
def status(database: Database) -> Callable[[int], Any]:
    """The projected row of transfer ``n``."""

    def row(n: int) -> Any:
        with reading(database.engine) as connection:
            key = bytes.fromhex(transfer_id(n)[2:])
            return connection.execute(
                select(Transfer.__table__).where(Transfer.transfer_id == key)
            ).one_or_none()

    return row
