"""What other features take of transfers."""

from __future__ import annotations

from app.db.database import Database
from app.network.handed_in import TRANSFER_USE
from app.transfers.queries import usage


def add(database: Database) -> None:
    """Let the network know which rows transfers use."""
    for engine in database.engines:
        TRANSFER_USE.hand_in(engine, lambda _connection: usage)
