"""Writing latencies, how many there are of about each length, and their middle, in one transaction.

Counts are of the records released after a moment, ``LatencyWindow.since``, which follows the start of the
seven-day window from behind. A reader corrects them by the few records in between
(app/queries/latency/correction.py), so medians are exact (docs/decisions/0010-latency-counts.md). The middle
of each pair and its neighbours are moved along with the counts (docs/decisions/0036-kept-middles.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Select, delete, func, insert, literal_column, select

from app.domain.keys import TransferId
from app.domain.transfer.effects import Latency
from app.domain.transfer.latency import FINE, WIDE, window
from app.models.connections.append import append
from app.models.latencies import LatencyCount, LatencyMiddle, LatencyWindow
from app.models.transfers import LatencyRecord
from app.models.upsert import add_up, upsert
from app.queries.feed.latency_counts import (
    FineKey,
    LatencyKey,
    counted_window,
    released_between,
    released_between_of_middles,
)
from app.queries.latency.around import Miscounted
from app.services.feed.latency.middles import make_middles, move_middles

STEP: Final = timedelta(seconds=10)
"""How far the window's start may be ahead of what is counted before the counts follow."""

_ONLY: Final = 1


def write_latencies(
    connection: Connection,
    before: Mapping[TransferId, Latency],
    after: Mapping[TransferId, Latency],
    fresh: Set[TransferId] = frozenset(),
) -> None:
    """Write what changed between two states of some transfers, by their ids.

    :param fresh: those of which the database had nothing before.
    """
    gone = [i for i in before if i not in after]
    changed = {i: latency for i, latency in after.items() if before.get(i) != latency}
    if not gone and not changed:
        return
    counted = counted_window(connection)  # with the first record that changes, no middle is trusted any more
    if gone:
        connection.execute(delete(LatencyRecord).where(LatencyRecord.transfer_id.in_(gone)))
    append(
        connection, LatencyRecord, [latency_row(i, latency) for i, latency in changed.items() if i in fresh]
    )
    upsert(connection, LatencyRecord, [latency_row(i, changed[i]) for i in changed if i not in fresh])
    if counted is not None:
        since, change = counted.since, Counter[LatencyKey]()
        change.subtract(_key(latency) for latency in before.values() if latency.released_at > since)
        change.update(_key(latency) for latency in after.values() if latency.released_at > since)
        _count(connection, _by_fine(change))
        if counted.middles_are_right:
            _move_or_forget(connection, change, since)


def _move_or_forget(connection: Connection, change: Mapping[LatencyKey, int], since: datetime) -> None:
    """Let the middles follow; where the counts turn out to be wrong, count nothing.

    They are counted anew with the next events: the feed goes on, and so does what repairs the records.
    """
    try:
        move_middles(connection, change, since)
    except Miscounted:
        forget_counts(connection)


def follow_window(connection: Connection, now: datetime) -> None:
    """Let the counts follow the window: records that are older than it are counted no more.

    The caller is the only writer. Where nothing is counted yet, everything is. Middles that an earlier
    release left behind are made anew: no more often than this, for it may be writing still.
    """
    counted, (after, _until) = counted_window(connection), window(now)
    if counted is None:
        recount(connection, now)
    elif after - counted.since >= STEP:
        left_behind = released_between(connection, counted.since, after)
        _count(connection, {key: -count for key, count in left_behind.items()})
        upsert(connection, LatencyWindow, [{"id": _ONLY, "since": after}])
        if counted.middles_are_right:
            left_middles = released_between_of_middles(connection, counted.since, after)
            _move_or_forget(connection, {key: -count for key, count in left_middles.items()}, after)
        else:
            _make_or_recount(connection, after, now)


def _make_or_recount(connection: Connection, after: datetime, now: datetime) -> None:
    try:
        make_middles(connection, after)
    except Miscounted:
        recount(connection, now)


def recount(connection: Connection, now: datetime) -> None:
    """Count anew, from the records: after something else than the feed has written or deleted some.

    The caller is the only writer.
    """
    after, _until = window(now)
    forget_counts(connection)
    for width in (WIDE, FINE):
        connection.execute(insert(LatencyCount).from_select(_COUNT_COLUMNS, counted_after(after, width)))
    connection.execute(insert(LatencyWindow).values(id=_ONLY, since=after))
    make_middles(connection, after)


def forget_counts(connection: Connection) -> None:
    """Count nothing: medians are found from the records alone until the next event comes in."""
    connection.execute(delete(LatencyWindow))
    connection.execute(delete(LatencyCount))
    connection.execute(delete(LatencyMiddle))


_COUNT_COLUMNS: Final = ("src_chain_id", "dst_chain_id", "width", "bucket", "n")
_PAIR: Final = (LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id)


def counted_after(since: datetime, width: int) -> Select[*tuple[Any, ...]]:
    """By pair of chains and bucket of a width, how many records were released after a time."""
    bucket = LatencyRecord.latency_us.bitwise_rshift(literal_column(str(width)))
    counted = select(*_PAIR, literal_column(str(width)), bucket, func.count())
    return counted.where(LatencyRecord.released_at > since).group_by(*_PAIR, bucket)


def _key(latency: Latency) -> LatencyKey:
    return latency.src_chain_id, latency.dst_chain_id, latency.microseconds


def _by_fine(change: Mapping[LatencyKey, int]) -> Counter[FineKey]:
    """The change of the fine counts."""
    moved: Counter[FineKey] = Counter()
    for (src, dst, latency), n in change.items():
        moved[src, dst, latency >> FINE] += n
    return moved


def latency_row(transfer_id: bytes, latency: Latency) -> dict[str, Any]:
    """The row of a latency."""
    return {
        "transfer_id": transfer_id,
        "src_chain_id": latency.src_chain_id,
        "dst_chain_id": latency.dst_chain_id,
        "released_at": latency.released_at,
        "latency_us": latency.microseconds,
    }


def _count(connection: Connection, change: Mapping[FineKey, int]) -> None:
    """Add to the fine counts, and as much to the wide ones; drop those that come to nothing."""
    moved: Counter[tuple[int, int, int, int]] = Counter()
    for (src, dst, fine), n in change.items():
        moved[src, dst, FINE, fine] += n
        moved[src, dst, WIDE, fine >> (WIDE - FINE)] += n
    keys = {key: n for key, n in moved.items() if n}
    add_up(
        connection,
        LatencyCount,
        [dict(zip(_COUNT_COLUMNS, (*key, n), strict=True)) for key, n in keys.items()],
    )
    _drop_empty(connection, {(src, dst) for (src, dst, _, _), n in keys.items() if n < 0})


def _drop_empty(connection: Connection, pairs: Iterable[tuple[int, int]]) -> None:
    for src, dst in pairs:
        connection.execute(
            delete(LatencyCount).where(
                LatencyCount.src_chain_id == src, LatencyCount.dst_chain_id == dst, LatencyCount.n == 0
            )
        )
