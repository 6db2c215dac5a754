"""Was this database filled with transfers that have no events?"""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.models.pruned import GrownDatabase


def grown_transfers(connection: Connection) -> int | None:
    """How many transfers were made for measurements; None in a database that has a log."""
    return connection.scalar(select(GrownDatabase.transfers))
