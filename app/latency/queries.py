"""How long did transfers between two chains take? Exact, whatever the number of transfers.

One statement finds the latencies at some ranks in two steps: counts give the bucket of the rank, and the
records of that bucket give the latency (docs/decisions/0010-latency-counts.md).

Counts cover the records released after some moment. The records between that moment and the start of the
window, and any of the future, are added or subtracted.

Latencies are counted by pairs of chains only. For one token the records are read, each with its transfer:
those of the newest ``MOST`` releases of the pair at most. What it costs does not grow with the traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    Subquery,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from app.db.direct import DirectSelect
from app.db.types import UtcTime
from app.latency.median import FINE, middle_ranks
from app.latency.models import LatencyCount, LatencyRecord, LatencyWindow
from app.transfers.models import Transfer
from app.values.identifiers import ChainId

Pair = tuple[ChainId, ChainId]
"""Source and destination."""

Ranks = Callable[[ColumnElement[int]], tuple[ColumnElement[int], ColumnElement[int]]]
"""From the number of all latencies to the two ranks that are wanted; both are the same where it is one."""

AFTER: Final = bindparam("after", type_=UtcTime)
UNTIL: Final = bindparam("until", type_=UtcTime)
_SRC: Final = bindparam("src", type_=BigInteger)
_DST: Final = bindparam("dst", type_=BigInteger)
_NEVER: Final = bindparam("never", datetime.max.replace(tzinfo=UTC), type_=UtcTime)

# Short names: the driver parses a statement of more than 4,096 characters each time.
_RECORDS: Final = LatencyRecord.__table__.alias("r")
RECORD: Final = _RECORDS.c
RECORDS_OF_PAIR: Final = (RECORD.src_chain_id == _SRC, RECORD.dst_chain_id == _DST)
_COUNT: Final = LatencyCount.__table__.alias("c").c
_COUNTS_OF_PAIR: Final = (_COUNT.src_chain_id == _SRC, _COUNT.dst_chain_id == _DST)


@dataclass(frozen=True, slots=True)
class LatencyOrder:
    """Order statistics of some latencies, in microseconds.

    ``middle`` is one value of an odd ``count``, two of an even one; a percentile is the least latency that so
    many of a hundred transfers did not exceed (nearest rank).
    """

    count: int
    middle: tuple[int, ...]
    p90: int
    p99: int


def number(value: int) -> ColumnElement[int]:
    """A number written into the statement. As a parameter it would keep the planner from using the index."""
    return literal_column(str(value), BigInteger)


def _bucket(latency: ColumnElement[int]) -> ColumnElement[int]:
    """The bucket of a latency, as the index has it."""
    return latency.bitwise_rshift(number(FINE))


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, number(1)), else_=number(0))


def _total(numbers: ColumnElement[int], over: dict[str, Any] | None = None) -> ColumnElement[int]:
    """A sum, over a window if one is given. PostgreSQL makes it a NUMERIC, which is slow to go on with."""
    total = func.sum(numbers)
    return cast(total if over is None else total.over(**over), BigInteger)


def _correction(records: Sequence[ColumnElement[bool]]) -> CTE:
    """What the counts lack or have too much for the window, by pair and bucket: 1 or -1 for a record.

    Where nothing is counted, it is the whole window.
    """
    columns = (RECORD.src_chain_id, RECORD.dst_chain_id, _bucket(RECORD.latency_us).label("bucket"))
    since = func.coalesce(select(LatencyWindow.since).scalar_subquery(), _NEVER, type_=UtcTime)
    counted = select(since.label("since")).cte("counted").c.since
    behind = counted < AFTER
    span = select(
        counted,
        case((behind, counted), else_=AFTER).label("low"),
        case((behind, AFTER), else_=counted).label("high"),
    ).cte("span")
    released = RECORD.released_at
    in_window = _one_if((released > AFTER) & (released <= UNTIL))
    between = (
        select(*columns, (in_window - _one_if(released > span.c.since)).label("n"))
        .select_from(span.join(_RECORDS, true()))
        .where(*records, released > span.c.low, released <= span.c.high)
    )
    # Of two lower bounds SQLite would take the first, so that the span's end is no condition here.
    high = select(span.c.high).scalar_subquery()
    future = select(*columns, (-_one_if(released > high)).label("n")).where(*records, released > UNTIL)
    return union_all(between, future).cte("correction")


def _buckets(counts: Sequence[ColumnElement[bool]], records: Sequence[ColumnElement[bool]]) -> Subquery:
    """Every bucket of a pair with its latencies in the window, and how many the pair has at all."""
    counted = select(_COUNT.src_chain_id, _COUNT.dst_chain_id, _COUNT.bucket, _COUNT.n).where(
        *counts, _COUNT.width == number(FINE)
    )
    both = union_all(counted, select(_correction(records))).subquery().c
    key = (both.src_chain_id, both.dst_chain_id, both.bucket)
    buckets = select(*key, _total(both.n).label("n")).group_by(*key).subquery()
    whole = {"partition_by": (buckets.c.src_chain_id, buckets.c.dst_chain_id)}
    return select(
        *buckets.c,
        _total(buckets.c.n, over=whole).label("total"),
        (_total(buckets.c.n, over={**whole, "order_by": buckets.c.bucket}) - buckets.c.n).label("below"),
    ).subquery()


def _position(buckets: Subquery, ranks: Ranks) -> CTE:
    """Of each pair the buckets of the two ranks, and how many latencies are below each of them."""
    lower, upper = ranks(buckets.c.total)
    pair = (buckets.c.src_chain_id, buckets.c.dst_chain_id)
    return (
        select(
            *pair,
            func.min(buckets.c.bucket).label("first"),
            func.min(buckets.c.below).label("below_first"),
            func.max(buckets.c.bucket).label("last"),
            func.max(buckets.c.below).label("below_last"),
            func.min(buckets.c.total).label("total"),
        )
        .where(buckets.c.below <= upper, buckets.c.below + buckets.c.n > lower)
        .group_by(*pair)
        .cte("place")
    )


def the_middle(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """The ranks of the middle in sorted order, from 0; both are the same where the number is odd."""
    return (total - number(1)) // number(2), total // number(2)


def nearest_rank(percent: int) -> Ranks:
    """The rank that so many of a hundred do not exceed (nearest rank), from 0; twice."""

    def ranks(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
        rank = (number(percent) * total + number(99)) // number(100) - number(1)
        return rank, rank

    return ranks


def _latency_at(place: CTE, bucket: ColumnElement[int], rank: ColumnElement[int]) -> ScalarSelect[int]:
    """The latency at a rank of a bucket, from 0.

    A subquery for each pair: as a join PostgreSQL would read every release of the week.
    """
    latency = RECORD.latency_us
    ranked = (
        select(latency, (func.row_number().over(order_by=latency) - number(1)).label("rank"))
        .where(
            RECORD.src_chain_id == place.c.src_chain_id,
            RECORD.dst_chain_id == place.c.dst_chain_id,
            _bucket(latency) == bucket,
            RECORD.released_at > AFTER,
            RECORD.released_at <= UNTIL,
        )
        .correlate(place)
        .subquery()
        .c
    )
    return select(ranked.latency_us).where(ranked.rank == rank).correlate(place).scalar_subquery()


def _latencies_at(
    ranks: Ranks,
    counts: Sequence[ColumnElement[bool]] = (),
    records: Sequence[ColumnElement[bool]] = (),
) -> Select[*tuple[Any, ...]]:
    """Of each pair: the number of its latencies, and those at the two ranks.

    :param counts: of which counts, and ``records``: of which records. Without conditions of every pair.
    """
    place = _position(_buckets(counts, records), ranks)
    lower, upper = ranks(place.c.total)
    return select(
        place.c.src_chain_id,
        place.c.dst_chain_id,
        place.c.total,
        _latency_at(place, place.c.first, lower - place.c.below_first),
        _latency_at(place, place.c.last, upper - place.c.below_last),
    )


def _of_pair(ranks: Ranks) -> DirectSelect[tuple[int, int, int]]:
    """Of one pair: the number of its latencies, and those at the two ranks."""
    statement = _latencies_at(ranks, _COUNTS_OF_PAIR, RECORDS_OF_PAIR)
    return DirectSelect(statement, lambda _src, _dst, total, lower, upper: (total, lower, upper))


_MIDDLE: Final = _of_pair(the_middle)
_NINTH_TENTH: Final = _of_pair(nearest_rank(90))
_NINETY_NINTH: Final = _of_pair(nearest_rank(99))
_ALL_MIDDLES: Final = _latencies_at(the_middle)
_ALL_NINTH_TENTHS: Final = _latencies_at(nearest_rank(90))


def middle_latencies(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> tuple[int, ...]:
    """The middle of the sorted latencies, in microseconds, of releases in ``(after, until]``.

    :return: nothing when there are none, one value of an odd count, two of an even one.
    """
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    found = _MIDDLE.first(connection, bounds)
    return () if found is None else _middle(*found)


def _middle(total: int, lower: int, upper: int) -> tuple[int, ...]:
    return (lower,) if total % 2 else (lower, upper)


def latency_order(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> LatencyOrder | None:
    """Those of the releases in ``(after, until]``, exact; None where there are none.

    Several statements: to be read where they see the database at one moment.
    """
    middle = middle_latencies(connection, src_chain_id, dst_chain_id, after, until)
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    p90, p99 = (at.first(connection, bounds) if middle else None for at in (_NINTH_TENTH, _NINETY_NINTH))
    return None if p90 is None or p99 is None else LatencyOrder(p90[0], middle, p90[1], p99[1])


def middle_and_p90(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> tuple[Sequence[int], int] | None:
    """Only the middle and the 90th percentile; None where there are none.

    Of two moments where the connection has no transaction: for what does not need to be exact.
    """
    middle = middle_latencies(connection, src_chain_id, dst_chain_id, after, until)
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    p90 = _NINTH_TENTH.first(connection, bounds) if middle else None
    return None if p90 is None else (middle, p90[1])


def middles_by_pair(
    connection: Connection, after: datetime, until: datetime
) -> dict[tuple[int, int], tuple[int, ...]]:
    """The middle of the releases in ``(after, until]``, exact, of every two chains that have any."""
    rows = connection.execute(_ALL_MIDDLES, {"after": after, "until": until})
    return {(src, dst): _middle(total, lower, upper) for src, dst, total, lower, upper in rows}


def ninth_tenths_by_pair(
    connection: Connection, after: datetime, until: datetime
) -> dict[tuple[int, int], tuple[int, int]]:
    """The 90th percentile of the same, and how many releases there are."""
    rows = connection.execute(_ALL_NINTH_TENTHS, {"after": after, "until": until})
    return {(src, dst): (latency, total) for src, dst, total, latency, _same in rows}


def newest_release(connection: Connection) -> datetime | None:
    """The time of the newest release whose latency is known; None while there is none."""
    return connection.scalar(select(func.max(LatencyRecord.released_at)))


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
