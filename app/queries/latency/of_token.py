"""How long did the transfers of one token between two chains take?

Latencies are counted by pairs of chains alone, so here the records are read, each with its transfer: those of
the newest ``MOST`` releases of the pair at most. What it costs does not grow with the traffic.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, bindparam, func, or_, select

from app.domain.transfer.kept_middle import middle_ranks
from app.models.transfers import Transfer
from app.queries.latency.correction import AFTER, RECORD, RECORDS_OF_PAIR, UNTIL, number
from app.queries.latency.kept import Pair
from app.queries.latency.middle import nearest_rank, the_middle
from app.queries.latency.of_pair import LatencyOrder

MOST: Final = 20_000
"""Releases that are looked at."""

_SECOND: Final = timedelta(seconds=1)
_RELEASED: Final = (*RECORDS_OF_PAIR, RECORD.released_at > AFTER, RECORD.released_at <= UNTIL)
_ONE_TOO_MANY: Final = (
    select(RECORD.released_at)
    .where(*_RELEASED)
    .order_by(RECORD.released_at.desc())
    .offset(bindparam("most"))
    .limit(1)
)
_LATENCIES: Final = (
    select(
        RECORD.latency_us,
        (func.row_number().over(order_by=RECORD.latency_us) - number(1)).label("rank"),
        func.count().over().label("total"),
    )
    .where(
        *_RELEASED,
        # Of each record by itself: for a join PostgreSQL would rather read a million transfers.
        select(Transfer.symbol).where(Transfer.transfer_id == RECORD.transfer_id).scalar_subquery()
        == bindparam("symbol"),
    )
    .subquery()
    .c
)
_RANKS: Final = tuple(
    rank for ranks in (the_middle, nearest_rank(90), nearest_rank(99)) for rank in ranks(_LATENCIES.total)
)
_ORDER: Final = (
    select(_LATENCIES.latency_us, _LATENCIES.rank, _LATENCIES.total)
    .where(or_(*(_LATENCIES.rank == rank for rank in _RANKS)))
    .order_by(_LATENCIES.rank)
)


def counted_since(
    connection: Connection, pair: Pair, after: datetime, until: datetime, most: int = MOST
) -> datetime:
    """From when on at most ``most`` transfers of the pair were released: ``after`` or whole seconds ago.

    All that were released after that moment, up to ``until``, are looked at.
    """
    src, dst = pair
    values = {"src": src, "dst": dst, "after": after, "until": until, "most": most}
    oldest = connection.scalar(_ONE_TOO_MANY, values)
    return after if oldest is None else until - (until - oldest) // _SECOND * _SECOND


def latency_order_of_token(
    connection: Connection, pair: Pair, symbol: str, after: datetime, until: datetime
) -> LatencyOrder | None:
    """The order statistics of its releases in ``(after, until]``, exact; None where there are none.

    :param after: as :func:`counted_since` gives it.
    """
    src, dst = pair
    values = {"src": src, "dst": dst, "after": after, "until": until, "symbol": symbol}
    rows = connection.execute(_ORDER, values).all()
    if not rows:
        return None
    total, latencies = rows[0].total, {row.rank: row.latency_us for row in rows}
    lower, upper = middle_ranks(total)
    middle = (latencies[lower],) if lower == upper else (latencies[lower], latencies[upper])
    return LatencyOrder(total, middle, latencies[_rank(90, total)], latencies[_rank(99, total)])


def _rank(percent: int, total: int) -> int:
    """As ``nearest_rank`` has it."""
    return (percent * total + 99) // 100 - 1
