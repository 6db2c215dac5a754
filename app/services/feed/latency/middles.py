"""The kept middles of pairs follow their counts, or are made anew where they did not.

The rows are trusted while ``LatencyWindow.middles_since`` says so. The database takes that word back with any
change of a record; only what has moved the rows along gives it again (docs/decisions/0036-kept-middles.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from app.domain.transfer.kept_middle import KeptMiddle
from app.models.latencies import LatencyCount, LatencyMiddle, LatencyWindow
from app.models.upsert import upsert
from app.queries.feed.latency_counts import LatencyKey
from app.queries.latency.around import latencies_around
from app.queries.latency.kept import Pair, kept_middles


def move_middles(connection: Connection, change: Mapping[LatencyKey, int], since: datetime) -> None:
    """Let middles that were right before a change follow it; their counts have made it already.

    A middle that is not kept yet, or that gets near to the end of what is kept, is found among the records
    released after ``since``.
    """
    changes: dict[Pair, dict[int, int]] = {}
    for (src, dst, latency), n in change.items():
        if n:
            changes.setdefault((src, dst), {})[latency] = n
    kept, moved = kept_middles(connection, changes) if changes else {}, dict[Pair, KeptMiddle]()
    for pair, change_of_pair in changes.items():
        middle = kept[pair].moved(change_of_pair) if pair in kept else None
        moved[pair] = (
            latencies_around(connection, *pair, since) if middle is None or middle.is_off_centre else middle
        )
    _keep(connection, moved, since)


def make_middles(connection: Connection, since: datetime) -> None:
    """Find the middle of every pair anew, from the counts of the records released after ``since``."""
    connection.execute(delete(LatencyMiddle))
    pairs = connection.execute(select(LatencyCount.src_chain_id, LatencyCount.dst_chain_id).distinct()).all()
    found = {(src, dst): latencies_around(connection, src, dst, since) for src, dst in pairs}
    _keep(connection, found, since)


def _keep(connection: Connection, middles: Mapping[Pair, KeptMiddle], since: datetime) -> None:
    rows = [
        {
            "src_chain_id": src,
            "dst_chain_id": dst,
            "low": middle.low,
            "high": middle.high,
            "below": middle.below,
            "above": middle.above,
            "latencies": sorted(middle.values.items()),
        }
        for (src, dst), middle in middles.items()
    ]
    upsert(connection, LatencyMiddle, rows)
    connection.execute(update(LatencyWindow).values(middles_since=since))
