"""Writes latencies and their counts by bucket, in one transaction.

Counts are of the records released after a moment, ``LatencyWindow.since``, which follows the start of the
seven-day window from behind. A reader corrects them by the few records in between (app/latency/queries.py),
so medians are exact (docs/decisions/0010-latency-counts.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Select, delete, func, insert, literal_column, select

from app.db.types import is_one_of
from app.db.upserts import add_up, append, upsert
from app.latency.models import WIDTHS, LatencyCount, LatencyRecord, LatencyWindow
from app.latency.rules.median import FINE, window
from app.transfers.rules.sums import Latency
from app.values.identifiers import ChainId, TransferId

STEP: Final = timedelta(seconds=10)
"""How far the window's start may be ahead of the counts before they follow."""

FineKey = tuple[ChainId, ChainId, int]  # source chain, destination chain, fine bucket

_ONLY: Final = 1
_PAIR: Final = (LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id)
_COUNT_COLUMNS: Final = ("src_chain_id", "dst_chain_id", "width", "bucket", "n")

_SINCE: Final = select(LatencyWindow.since)
_KNOWN: Final = "gateway_counted_since"


def counted_since(connection: Connection) -> datetime | None:
    """Latencies released after this moment are counted; None where nothing is counted."""
    return connection.scalar(_SINCE)


def write_latencies(
    connection: Connection,
    before: Mapping[TransferId, Latency],
    after: Mapping[TransferId, Latency],
    fresh: Set[TransferId] = frozenset(),
) -> None:
    """Write what changed between two states of some transfers, by their ids.

    :param fresh: those that the database did not have before.
    """
    gone = [i for i in before if i not in after]
    changed = {i: latency for i, latency in after.items() if before.get(i) != latency}
    if not gone and not changed:
        return
    if gone:
        connection.execute(
            delete(LatencyRecord).where(is_one_of(connection, LatencyRecord.transfer_id, gone))
        )
    append(
        connection, LatencyRecord, [latency_row(i, latency) for i, latency in changed.items() if i in fresh]
    )
    upsert(connection, LatencyRecord, [latency_row(i, changed[i]) for i in changed if i not in fresh])
    since = _counted_since(connection)
    if since is not None:
        change = Counter[FineKey]()
        change.subtract(_key(latency) for latency in before.values() if latency.released_at > since)
        change.update(_key(latency) for latency in after.values() if latency.released_at > since)
        _count(connection, change)


def follow_window(connection: Connection, now: datetime) -> None:
    """Move the counts with the window, before this transaction writes: older records are counted no more.

    The caller is the only writer. If nothing is counted yet, all records of the window are counted.
    """
    since, (after, _until) = counted_since(connection), window(now)
    if since is None:
        recount(connection, now)
        since = after
    elif after - since >= STEP:
        left = connection.execute(counted_after(since, FINE).where(LatencyRecord.released_at <= after))
        _count(connection, {(src, dst, fine): -n for src, dst, _width, fine, n in left})
        upsert(connection, LatencyWindow, [{"id": _ONLY, "since": after}])
        since = after
    connection.execution_options(**{_KNOWN: since})


def _counted_since(connection: Connection) -> datetime | None:
    """As :func:`counted_since`, read once a transaction where :func:`follow_window` began it."""
    options = connection.get_execution_options()
    return options[_KNOWN] if _KNOWN in options else counted_since(connection)


def recount(connection: Connection, now: datetime) -> None:
    """Count again from the records, after something else than the feed has written or deleted some.

    The caller is the only writer.
    """
    after, _until = window(now)
    connection.execute(delete(LatencyWindow))
    connection.execute(delete(LatencyCount))
    for width in WIDTHS:
        connection.execute(insert(LatencyCount).from_select(_COUNT_COLUMNS, counted_after(after, width)))
    connection.execute(insert(LatencyWindow).values(id=_ONLY, since=after))


def counted_after(since: datetime, width: int) -> Select[*tuple[Any, ...]]:
    """How many records were released after a time, by pair of chains and bucket of a width."""
    bucket = LatencyRecord.latency_us.bitwise_rshift(literal_column(str(width)))
    counted = select(*_PAIR, literal_column(str(width)), bucket, func.count())
    return counted.where(LatencyRecord.released_at > since).group_by(*_PAIR, bucket)


def _key(latency: Latency) -> FineKey:
    return latency.src_chain_id, latency.dst_chain_id, latency.microseconds >> FINE


def latency_row(transfer_id: bytes, latency: Latency) -> dict[str, Any]:
    return {
        "transfer_id": transfer_id,
        "src_chain_id": latency.src_chain_id,
        "dst_chain_id": latency.dst_chain_id,
        "released_at": latency.released_at,
        "latency_us": latency.microseconds,
    }


def _count(connection: Connection, change: Mapping[FineKey, int]) -> None:
    """Add to the counts of each width, and delete those that become 0."""
    moved: Counter[tuple[int, int, int, int]] = Counter()
    for (src, dst, fine), n in change.items():
        for width in WIDTHS:
            moved[src, dst, width, fine >> (width - FINE)] += n
    keys = {key: n for key, n in moved.items() if n}
    add_up(
        connection,
        LatencyCount,
        [dict(zip(_COUNT_COLUMNS, (*key, n), strict=True)) for key, n in keys.items()],
    )
    for pair in {key[:2] for key, n in keys.items() if n < 0}:
        of_pair = LatencyCount.src_chain_id == pair[0], LatencyCount.dst_chain_id == pair[1]
        connection.execute(delete(LatencyCount).where(*of_pair, LatencyCount.n == 0))
