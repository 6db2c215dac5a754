"""Hands the network which rows transfers use."""

from __future__ import annotations

from app.db.database import Database
from app.network.handed_in import TRANSFER_USE
from app.transfers.queries import usage


def add(database: Database) -> None:
    for engine in database.engines:
        TRANSFER_USE.hand_in(engine, lambda _connection: usage)
