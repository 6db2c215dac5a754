"""Which latencies are around the middle of all that are counted between two chains?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, select

from app.domain.keys import ChainId
from app.domain.transfer.kept_middle import NONE, ROOM, KeptMiddle, middle_ranks
from app.domain.transfer.latency import FINE, WIDE
from app.models.latencies import LatencyCount
from app.models.transfers import LatencyRecord
from app.queries.latency.correction import shifted

_RECORD: Final = LatencyRecord.__table__.c

Bucket = tuple[int, int]
"""Its number, and how many latencies it has."""


class Miscounted(Exception):
    """The counts are not those of any latencies: something else than the feed has written them."""


def latencies_around(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, since: datetime
) -> KeptMiddle:
    """The middle of the latencies released after ``since``, which are those that are counted, to be kept.

    :raises Miscounted: they have no middle.
    """
    pair = src_chain_id, dst_chain_id
    wide = _counts(connection, *pair, WIDE)
    total = sum(n for _bucket, n in wide)
    if total == 0:
        return NONE
    lower, upper = middle_ranks(total)
    ranks = max(lower - ROOM, 0), min(upper + ROOM, total - 1)
    within, below = _having(wide, 0, ranks)
    spread = WIDE - FINE
    fine = _counts(connection, *pair, FINE, (within[0][0] << spread, (within[-1][0] + 1) << spread))
    within, below = _having(fine, below, ranks)
    values = _latencies(connection, *pair, since, [bucket for bucket, _n in within])
    low, high = within[0][0] << FINE, ((within[-1][0] + 1) << FINE) - 1
    above = total - below - sum(values.values())
    return KeptMiddle(low, high, below, above, values).narrowed()


def _having(buckets: Sequence[Bucket], below: int, ranks: tuple[int, int]) -> tuple[list[Bucket], int]:
    """The buckets that have any of the ranks, and how many latencies are under them.

    :param below: how many are under the first of all these buckets.
    :raises Miscounted: none has.
    """
    found: list[Bucket] = []
    under, first = below, below
    for bucket, n in buckets:
        if under + n > ranks[0] and under <= ranks[1]:
            first = first if found else under
            found.append((bucket, n))
        under += n
    if not found:
        raise Miscounted
    return found, first


def _counts(
    connection: Connection, src: ChainId, dst: ChainId, width: int, span: tuple[int, int] | None = None
) -> list[Bucket]:
    """The buckets of a width that have any latencies, sorted.

    :param span: the first that is wanted, and the first that is not any more.
    """
    query = select(LatencyCount.bucket, LatencyCount.n).where(
        LatencyCount.src_chain_id == src, LatencyCount.dst_chain_id == dst, LatencyCount.width == width
    )
    if span is not None:
        query = query.where(LatencyCount.bucket >= span[0], LatencyCount.bucket < span[1])
    return [(bucket, n) for bucket, n in connection.execute(query.order_by(LatencyCount.bucket)) if n]


def _latencies(
    connection: Connection, src: ChainId, dst: ChainId, since: datetime, fine: list[int]
) -> dict[int, int]:
    """How many of each latency are in these fine buckets."""
    rows = connection.execute(
        select(_RECORD.latency_us, func.count())
        .where(
            _RECORD.src_chain_id == src,
            _RECORD.dst_chain_id == dst,
            shifted(_RECORD.latency_us, FINE).in_(fine),
            _RECORD.released_at > since,
        )
        .group_by(_RECORD.latency_us)
    )
    return {row.latency_us: row[1] for row in rows}
