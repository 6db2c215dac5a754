"""From when on are latencies counted, and which of them are older than a moment?"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, literal_column, select

from app.domain.transfer.latency import FINE
from app.models.latencies import LatencyWindow
from app.models.transfers import LatencyRecord

FineKey = tuple[int, int, int]
"""Source chain, destination chain, fine bucket."""

_BY_FINE: Final = (
    LatencyRecord.src_chain_id,
    LatencyRecord.dst_chain_id,
    LatencyRecord.latency_us.bitwise_rshift(literal_column(str(FINE))),
)


def counted_since(connection: Connection) -> datetime | None:
    """Latencies released after this moment are counted; None where nothing is counted."""
    return connection.scalar(select(LatencyWindow.since))


def released_between(connection: Connection, after: datetime, until: datetime) -> dict[FineKey, int]:
    """How many latencies were released after one moment and up to another, by fine bucket."""
    rows = connection.execute(
        select(*_BY_FINE, func.count())
        .where(LatencyRecord.released_at > after, LatencyRecord.released_at <= until)
        .group_by(*_BY_FINE)
    )
    return {(src, dst, fine): count for src, dst, fine, count in rows}
