"""How long did transfers take, between every two chains at once?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from app.domain.keys import ChainId
from app.models.transfers import LatencyRecord


@dataclass(frozen=True, slots=True)
class PairOrder:
    """The middle and the 90th percentile of the sorted latencies between two chains, in microseconds.

    ``middle`` is one value of an odd ``count``, two of an even one; ``p90`` is the least latency that at
    least nine in ten of the transfers did not exceed (nearest rank).
    """

    src_chain_id: ChainId
    dst_chain_id: ChainId
    count: int
    middle: tuple[int, ...]
    p90: int


_SORTED: Final = (
    select(
        LatencyRecord.src_chain_id,
        LatencyRecord.dst_chain_id,
        LatencyRecord.latency_us,
        func.row_number()
        .over(
            partition_by=(LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id),
            order_by=LatencyRecord.latency_us,
        )
        .label("rank"),
        func.count().over(partition_by=(LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id)).label("n"),
    )
    .where(LatencyRecord.released_at > bindparam("after"), LatencyRecord.released_at <= bindparam("until"))
    .subquery()
)
_N: Final = _SORTED.c.n
_WANTED: Final = (
    select(_SORTED)
    .where(_SORTED.c.rank.in_(((_N + 1) // 2, _N // 2 + 1, (9 * _N + 9) // 10)))
    .order_by(_SORTED.c.src_chain_id, _SORTED.c.dst_chain_id, _SORTED.c.rank)
)


@dataclass(slots=True)
class _Ranks:
    n: int
    by_rank: dict[int, int] = field(default_factory=dict)


def pair_orders(connection: Connection, after: datetime, until: datetime) -> Iterator[PairOrder]:
    """The order statistics of releases in ``(after, until]``, exact, by source and destination."""
    pairs: dict[tuple[ChainId, ChainId], _Ranks] = {}
    for row in connection.execute(_WANTED, {"after": after, "until": until}):
        found = pairs.setdefault((row.src_chain_id, row.dst_chain_id), _Ranks(row.n))
        found.by_rank[row.rank] = row.latency_us
    for (src, dst), found in pairs.items():
        middle = dict.fromkeys(((found.n + 1) // 2, found.n // 2 + 1))
        yield PairOrder(
            src,
            dst,
            found.n,
            tuple(found.by_rank[rank] for rank in middle),
            found.by_rank[(9 * found.n + 9) // 10],
        )
