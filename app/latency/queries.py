"""Selects how long transfers between two chains took: exact, for any number of transfers.

One statement finds the latencies at some ranks in two steps: counts give the bucket of the rank, and the
records of that bucket give the latency (docs/decisions/0010-latency-counts.md).

Counts cover the records released after some moment. The records between that moment and the start of the
window, and any of the future, are added or subtracted.

Latencies are counted only by pairs of chains. For one token the records are read, each with its transfer: at
most those of the newest ``MOST`` releases of the pair. So the cost does not grow with the traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Subquery,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from app.db.types import UtcTime
from app.latency.models import LatencyCount, LatencyRecord, LatencyWindow
from app.latency.rules.median import FINE, median_ranks
from app.transfers.models import Transfer
from app.values.identifiers import ChainId

Pair = tuple[ChainId, ChainId]
"""Source and destination."""

Ranks = Callable[[ColumnElement[int]], tuple[ColumnElement[int], ColumnElement[int]]]
"""From the number of all latencies to the two wanted ranks; both are the same for a single rank."""

AFTER: Final = bindparam("after", type_=UtcTime)
UNTIL: Final = bindparam("until", type_=UtcTime)
_SRC: Final = bindparam("src", type_=BigInteger)
_DST: Final = bindparam("dst", type_=BigInteger)

# Short names: the driver parses a statement of more than 4,096 characters each time.
_RECORDS: Final = LatencyRecord.__table__.alias("r")
RECORD: Final = _RECORDS.c
RECORDS_OF_PAIR: Final = (RECORD.src_chain_id == _SRC, RECORD.dst_chain_id == _DST)
_COUNT: Final = LatencyCount.__table__.alias("c").c
_COUNTS_OF_PAIR: Final = (_COUNT.src_chain_id == _SRC, _COUNT.dst_chain_id == _DST)


class LatencyOrder(Struct, frozen=True):
    """Order statistics of some latencies, in microseconds.

    ``twice_median`` is a whole number: of an even ``count`` the sum of both medians. A percentile is the
    least latency that so many of a hundred transfers did not exceed (nearest rank).
    """

    count: int
    twice_median: int
    p90: int
    p99: int


def number(value: int) -> ColumnElement[int]:
    """A number that is written into the statement: with a parameter the planner would not use the index."""
    return literal_column(str(value), BigInteger)


def _bucket(latency: ColumnElement[int]) -> ColumnElement[int]:
    """The bucket of a latency, in the form that is indexed."""
    return latency.bitwise_rshift(number(FINE))


def _numbers(ends: Sequence[str]) -> Subquery:
    """Numbers whose sum is how many latencies of each bucket are in the window.

    They are the counts, the records that the counts lack, and, below 0, the records that they have too much.
    Where nothing is counted, they lack the whole window.
    """
    # PostgreSQL makes a NUMERIC of a sum of BIGINTs, which is slow, and a BIGINT of one of INTEGERs.
    counted = select(*(_COUNT[end] for end in ends), _COUNT.bucket, cast(_COUNT.n, Integer).label("n"))
    since = select(LatencyWindow.since).scalar_subquery()
    released = RECORD.released_at
    ends_of_record, bucket = [RECORD[end] for end in ends], _bucket(RECORD.latency_us)
    of_records = () if ends else RECORDS_OF_PAIR

    def corrected(n: ColumnElement[int], *when: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
        return select(*ends_of_record, bucket, cast(n, Integer)).where(*of_records, *when)

    # Of two bounds on the same side SQLite searches by the first.
    lacking = released > AFTER, released <= func.coalesce(since, UNTIL), released <= UNTIL
    return union_all(
        counted.where(*(() if ends else _COUNTS_OF_PAIR), _COUNT.width == number(FINE)),
        corrected(func.count(), *lacking).group_by(*ends_of_record, bucket),
        corrected(-func.count(), released > since, released <= AFTER).group_by(*ends_of_record, bucket),
        corrected(number(-1), released > UNTIL, released > since),
    ).subquery()


def _place(ends: Sequence[str], ranks: Ranks) -> CTE:
    """The buckets of the two ranks, and how many latencies are below the first of them."""
    numbers = _numbers(ends)
    pair: dict[str, Any] = {"partition_by": [numbers.c[end] for end in ends] or None}
    running = select(
        *numbers.c,
        func.sum(numbers.c.n).over(**pair).label("total"),
        func.sum(numbers.c.n).over(**pair, order_by=numbers.c.bucket).label("upto"),
    ).subquery()
    total, upto, bucket = running.c.total, running.c.upto, running.c.bucket
    lower, upper = ranks(total)
    key = (*(running.c[end] for end in ends), total)
    return (
        select(
            *key,
            func.min(bucket).label("first"),
            func.min(case((upto > upper, bucket))).label("last"),
            (total - func.sum(running.c.n)).label("below"),
        )
        .where(upto > lower)
        .group_by(*key)
        .cte("place")
    )


def median_rank(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """As ``median_ranks``, in the statement."""
    return (total - number(1)) // number(2), total // number(2)


def nearest_rank(percent: int) -> Ranks:
    """The rank that so many of a hundred do not exceed (nearest rank), from 0; twice."""

    def ranks(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
        rank = (number(percent) * total - number(1)) // number(100)
        return rank, rank

    return ranks


def _latencies_at(ranks: Ranks, ends: Sequence[str] = ()) -> Select[*tuple[Any, ...]]:
    """The number of latencies, and the latency at the two ranks: the sum of both, where the ranks differ.

    :param ends: the columns of source and destination, for the figures of every pair; else they are those of
        the given pair.
    """
    place, latency = _place(ends, ranks), RECORD.latency_us
    of_pair = [RECORD[end] == place.c[end] for end in ends] or RECORDS_OF_PAIR
    in_window = select(latency).where(*of_pair, RECORD.released_at > AFTER, RECORD.released_at <= UNTIL)
    # Compared by equality: for a list of both PostgreSQL would read the whole window.
    rows = union_all(
        in_window.where(_bucket(latency) == place.c.first).correlate(place),
        in_window.where(_bucket(latency) == place.c.last, place.c.last > place.c.first).correlate(place),
    ).subquery()
    nth = func.row_number().over(order_by=rows.c.latency_us)
    ranked = select(rows.c.latency_us, nth.label("nth")).subquery().c
    lower, upper = (rank - place.c.below for rank in ranks(place.c.total))
    found = select(cast(func.sum(ranked.latency_us), BigInteger)).where(
        ranked.nth > lower, ranked.nth <= upper + number(1)
    )
    # A subquery for each pair: for a join PostgreSQL would read every release of the week.
    at = found.correlate(place).scalar_subquery()
    return select(*(place.c[end] for end in ends), place.c.total, at.label("latency"))


_ENDS: Final = ("src_chain_id", "dst_chain_id")
_MEDIAN: Final = _latencies_at(median_rank)
_NINTH_TENTH: Final = _latencies_at(nearest_rank(90))
_NINETY_NINTH: Final = _latencies_at(nearest_rank(99))
_ALL_MEDIANS: Final = _latencies_at(median_rank, _ENDS)
_ALL_NINTH_TENTHS: Final = _latencies_at(nearest_rank(90), _ENDS)


def twice_median(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> int | None:
    """Twice the median, in microseconds, of releases in ``(after, until]``; None when there are none."""
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    found = connection.execute(_MEDIAN, bounds).first()
    return None if found is None else _twice(*found)


def _twice(total: int, found: int) -> int:
    """Of an odd number ``found`` is the median, of an even one the sum of both medians."""
    return found * 2 if total % 2 else found


def latency_order(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> LatencyOrder | None:
    """The order statistics of the releases in ``(after, until]``, exact; None where there are none.

    Several statements: the caller has to read them in one snapshot of the database.
    """
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    found = connection.execute(_MEDIAN, bounds).first()
    if found is None:
        return None
    p90, p99 = (connection.execute(at, bounds).one() for at in (_NINTH_TENTH, _NINETY_NINTH))
    return LatencyOrder(found[0], _twice(*found), p90[1], p99[1])


def twice_median_and_p90(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> tuple[int, int] | None:
    """Only twice the median and the 90th percentile; None where there are none.

    Without a transaction they are of two moments, for callers that need no exact figures.
    """
    twice = twice_median(connection, src_chain_id, dst_chain_id, after, until)
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    p90 = None if twice is None else connection.execute(_NINTH_TENTH, bounds).first()
    return None if twice is None or p90 is None else (twice, p90[1])


def twice_medians_by_pair(
    connection: Connection, after: datetime, until: datetime
) -> dict[tuple[int, int], int]:
    """Twice the median of the releases in ``(after, until]``, exact, of every two chains that have any."""
    rows = connection.execute(_ALL_MEDIANS, {"after": after, "until": until})
    return {(src, dst): _twice(total, found) for src, dst, total, found in rows}


def ninth_tenths_by_pair(
    connection: Connection, after: datetime, until: datetime
) -> dict[tuple[int, int], tuple[int, int]]:
    """The 90th percentile of the same, and how many releases there are."""
    rows = connection.execute(_ALL_NINTH_TENTHS, {"after": after, "until": until})
    return {(src, dst): (latency, total) for src, dst, total, latency in rows}


def newest_release(connection: Connection) -> datetime | None:
    return connection.scalar(select(func.max(LatencyRecord.released_at)))


MOST: Final = 20_000
"""Releases that are read."""

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
        # For each record separately: for a join PostgreSQL would read a million transfers.
        select(Transfer.symbol).where(Transfer.transfer_id == RECORD.transfer_id).scalar_subquery()
        == bindparam("symbol"),
    )
    .subquery()
    .c
)
_RANKS: Final = tuple(
    rank for ranks in (median_rank, nearest_rank(90), nearest_rank(99)) for rank in ranks(_LATENCIES.total)
)
_ORDER: Final = (
    select(_LATENCIES.latency_us, _LATENCIES.rank, _LATENCIES.total)
    .where(or_(*(_LATENCIES.rank == rank for rank in _RANKS)))
    .order_by(_LATENCIES.rank)
)


def counted_since(
    connection: Connection, pair: Pair, after: datetime, until: datetime, most: int = MOST
) -> datetime:
    """The time after which at most ``most`` transfers of the pair were released: ``after``, or whole seconds
    ago.

    All releases after that time, up to ``until``, are read.
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
    lower, upper = median_ranks(total)
    twice = latencies[lower] + latencies[upper]
    return LatencyOrder(total, twice, latencies[_rank(90, total)], latencies[_rank(99, total)])


def _rank(percent: int, total: int) -> int:
    """As :func:`nearest_rank`, of numbers."""
    return (percent * total - 1) // 100
