"""Hands latencies to other features."""

from __future__ import annotations

from app.db.database import Database
from app.latency.services import times_between
from app.transfers.handed_in import ROUTE_TIMES


def add(database: Database) -> None:
    """Let answers about a status name how long its route takes."""
    for engine in database.engines:
        ROUTE_TIMES.hand_in(engine, times_between)
