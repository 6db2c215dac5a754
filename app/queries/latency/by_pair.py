"""How long did transfers take, between every two chains at once?

Nothing is sorted: the pairs are those that have counts. All middles that are kept are read at once
(app/queries/latency/kept.py); the others and the 90th percentiles are found from counts, pair by pair
(app/queries/latency/middle.py). Where nothing is counted yet, the latencies of the window are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, select, union

from app.cooperation import in_turns
from app.domain.keys import ChainId
from app.domain.transfer.latency import WIDE
from app.models.latencies import LatencyCount, LatencyWindow
from app.models.transfers import LatencyRecord
from app.queries.latency.kept import all_kept_middles
from app.queries.latency.middle import latencies_at, nearest_rank, the_middle


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


_RELEASED: Final = (
    select(LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id)
    .where(LatencyRecord.released_at > bindparam("after"), LatencyRecord.released_at <= bindparam("counted"))
    .distinct()
)
_PAIRS: Final = union(
    select(LatencyCount.src_chain_id, LatencyCount.dst_chain_id).where(
        LatencyCount.width == WIDE, LatencyCount.n > 0
    ),
    _RELEASED,
).order_by("src_chain_id", "dst_chain_id")
_MIDDLE: Final = latencies_at(the_middle)
_NINTH_TENTH: Final = latencies_at(nearest_rank(90))


def pair_orders(connection: Connection, after: datetime, until: datetime) -> Iterator[PairOrder]:
    """The order statistics of releases in ``(after, until]``, exact, by source and destination.

    It costs a few milliseconds for each pair, whatever the number of transfers.
    """
    since = connection.scalar(select(LatencyWindow.since))
    # Whoever was released before the counts begin is found by time: usually nobody who is in the window.
    counted = until if since is None else since
    pairs = connection.execute(_PAIRS, {"after": after, "counted": counted}).all()
    kept = all_kept_middles(connection, after, until)
    for pair in in_turns(pairs):
        middle = kept.get((pair.src_chain_id, pair.dst_chain_id))
        order = _order(connection, pair, after, until, middle)
        if order is not None:
            yield order


def _order(
    connection: Connection,
    pair: Row[*tuple[Any, ...]],
    after: datetime,
    until: datetime,
    middle: Sequence[int] | None,
) -> PairOrder | None:
    bounds = {"src": pair.src_chain_id, "dst": pair.dst_chain_id, "after": after, "until": until}
    if middle is None:
        middle = connection.scalars(_MIDDLE, bounds).all()
    p90 = connection.execute(_NINTH_TENTH, bounds).all() if middle else []
    if not p90:
        return None  # all of its releases have left the window since they were counted
    return PairOrder(pair.src_chain_id, pair.dst_chain_id, p90[0].total, tuple(middle), p90[0].latency_us)
