"""A gateway with the small network, its clock at NOW."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.transfers.models import Transfer
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, id_of, small_network


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


@pytest.fixture
def status(database: Database) -> Callable[[int], Any]:
    """The projected row of transfer ``n``."""

    def row(n: int) -> Any:
        with reading(database.engine) as connection:
            query = select(Transfer.__table__).where(Transfer.transfer_id == id_of(n))
            return connection.execute(query).one_or_none()

    return row
