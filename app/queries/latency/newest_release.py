"""When was the last transfer released?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, func, select

from app.models.transfers import LatencyRecord


def newest_release(connection: Connection) -> datetime | None:
    """The time of the newest release whose latency is known; None while there is none."""
    return connection.scalar(select(func.max(LatencyRecord.released_at)))
