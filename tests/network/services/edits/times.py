"""Estimates at other times."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from app.db.database import Database
from app.estimates.rules.inputs import EstimateRequest
from app.network.services import NetworkSnapshots
from app.network.snapshot import SnapshotSource
from app.values.identifiers import ChainId


def at(database: Database, now: datetime) -> tuple[Database, SnapshotSource]:
    """What an estimate reads at that time, with nothing in memory."""
    later = replace(database, clock=lambda: now)
    return later, NetworkSnapshots(database.engine, 0, clock=later.clock)


def written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


REQUEST = EstimateRequest(ChainId(1), ChainId(56), "USDT", 10**9, 5000)
