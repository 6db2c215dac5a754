"""How long did the transfers between two chains take?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, select

from app.models.direct import DirectSelect
from app.models.transfers import LatencyRecord

_COUNTED = (
    LatencyRecord.src_chain_id == bindparam("src"),
    LatencyRecord.dst_chain_id == bindparam("dst"),
    LatencyRecord.released_at > bindparam("after"),
    LatencyRecord.released_at <= bindparam("until"),
)
# Counted once, in a common table, and in the same statement as the rows, so that both see the same facts.
_COUNT = select(func.count().label("n")).select_from(LatencyRecord).where(*_COUNTED).cte("counted")
# Of n sorted rows the middle is the one after (n-1)/2 rows when n is odd, that and the next when n is
# even. Division drops the fraction on both databases, towards zero also for n = 0.
_MIDDLE = DirectSelect(
    select(LatencyRecord.latency_us)
    .where(*_COUNTED)
    .order_by(LatencyRecord.latency_us)
    .limit(select(2 - _COUNT.c.n % 2).scalar_subquery())
    .offset(select((_COUNT.c.n - 1) // 2).scalar_subquery()),
    int,
)


def middle_latencies(
    connection: Connection, src_chain_id: int, dst_chain_id: int, after: datetime, until: datetime
) -> Sequence[int]:
    """The middle of the sorted latencies, in microseconds, of releases in ``(after, until]``.

    :return: nothing when there are none, one value of an odd count, two of an even one.
    """
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    return _MIDDLE.all(connection, bounds)
