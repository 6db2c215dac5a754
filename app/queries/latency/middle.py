"""How long did the transfers between two chains take?

One statement finds the middle of the sorted latencies in three steps: counts give the wide bucket of the
middle, more counts give the fine bucket within it, and the records of that bucket give the latencies. Counts
cover the records released after some moment. The records between that moment and the start of the window,
and any of the future, are added or subtracted.

Each step is joined to the one before. Subqueries would be planned and run again and again
(docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
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

from app.domain.keys import ChainId
from app.domain.transfer.latency import FINE, WIDE
from app.models.connections.direct import DirectSelect
from app.models.latencies import LatencyCount, LatencyWindow
from app.models.transfers import LatencyRecord
from app.models.types import UtcTime

_SRC = bindparam("src", type_=BigInteger)
_DST = bindparam("dst", type_=BigInteger)
_AFTER = bindparam("after", type_=UtcTime)
_UNTIL = bindparam("until", type_=UtcTime)
_NEVER = bindparam("never", datetime.max.replace(tzinfo=UTC), type_=UtcTime)

# Short names: the driver parses a statement of more than 4,096 characters anew each time.
_RECORDS = LatencyRecord.__table__.alias("r")
_COUNTS = LatencyCount.__table__.alias("c")
_RECORD, _COUNT = _RECORDS.c, _COUNTS.c
_RECORDS_OF_PAIR = (_RECORD.src_chain_id == _SRC, _RECORD.dst_chain_id == _DST)
_COUNTS_OF_PAIR = (_COUNT.src_chain_id == _SRC, _COUNT.dst_chain_id == _DST)


Ranks = Callable[[ColumnElement[int]], tuple[ColumnElement[int], ColumnElement[int]]]
"""From the number of all latencies to the two ranks that are asked for; both are the same where it is one."""


def _number(value: int) -> ColumnElement[int]:
    """A number written into the statement. As a parameter it would keep the planner from using the index."""
    return literal_column(str(value), BigInteger)


def _shifted(number: ColumnElement[int], bits: int) -> ColumnElement[int]:
    return number.bitwise_rshift(_number(bits))


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, _number(1)), else_=_number(0))


def _sum(numbers: ColumnElement[int], over: dict[str, Any] | None = None) -> ColumnElement[int]:
    """A sum, over a window if one is given. PostgreSQL makes it a NUMERIC, which is slow to go on with."""
    total = func.sum(numbers)
    return cast(total if over is None else total.over(**over), BigInteger)


def _correction() -> CTE:
    """Corrections of the counts to the window: 1 more or 1 less for a latency, which often add up to 0."""
    since = func.coalesce(select(LatencyWindow.since).scalar_subquery(), _NEVER, type_=UtcTime)
    counted = select(since.label("since")).cte("counted").c.since
    behind = counted < _AFTER
    span = select(
        counted,
        case((behind, counted), else_=_AFTER).label("low"),
        case((behind, _AFTER), else_=counted).label("high"),
    ).cte("span")
    released = _RECORD.released_at
    in_window = _one_if((released > _AFTER) & (released <= _UNTIL))
    between = (
        select(_RECORD.latency_us, (in_window - _one_if(released > span.c.since)).label("n"))
        .select_from(span.join(_RECORDS, true()))
        .where(*_RECORDS_OF_PAIR, released > span.c.low, released <= span.c.high)
    )
    # Of two lower bounds SQLite would take the first, so that the span's end is no condition here.
    high = select(span.c.high).scalar_subquery()
    future = select(_RECORD.latency_us, (-_one_if(released > high)).label("n")).where(
        *_RECORDS_OF_PAIR, released > _UNTIL
    )
    return union_all(between, future).cte("correction")


def _wide(correction: CTE) -> Subquery:
    """Every wide bucket with its number of latencies, and how many are in the window at all."""
    counts = select(_COUNT.bucket, _COUNT.n).where(*_COUNTS_OF_PAIR, _COUNT.width == _number(WIDE))
    corrected = select(_shifted(correction.c.latency_us, WIDE), correction.c.n)
    both = union_all(counts, corrected).subquery()
    buckets = select(both.c.bucket, _sum(both.c.n).label("n")).group_by(both.c.bucket).subquery()
    return select(
        buckets.c.bucket,
        buckets.c.n,
        _number(0).label("base"),
        _sum(buckets.c.n, over={}).label("total"),
    ).subquery()


def _fine(correction: CTE, position: CTE) -> Subquery:
    """The same for the fine buckets around the middle; ``base`` latencies are below them."""
    whole = (position.c.base, position.c.total)
    first, end = position.c.first * _number(1 << WIDE), (position.c.last + _number(1)) * _number(1 << WIDE)
    counts = (
        select(_COUNT.bucket, _COUNT.n, *whole)
        .select_from(position.join(_COUNTS, true()))
        .where(*_COUNTS_OF_PAIR, _COUNT.width == _number(FINE))
        .where(_COUNT.bucket >= _shifted(first, FINE), _COUNT.bucket < _shifted(end, FINE))
    )
    corrected = (
        select(_shifted(correction.c.latency_us, FINE), correction.c.n, *whole)
        .select_from(position.join(correction, true()))
        .where(correction.c.latency_us >= first, correction.c.latency_us < end)
    )
    both = union_all(counts, corrected).subquery()
    return (
        select(
            both.c.bucket,
            _sum(both.c.n).label("n"),
            func.min(both.c.base).label("base"),
            func.min(both.c.total).label("total"),
        )
        .group_by(both.c.bucket)
        .subquery()
    )


def _position(buckets: Subquery, ranks: Ranks, name: str) -> CTE:
    """The bucket of the ranks (two where they are in two), and how many latencies are below it."""
    running = _sum(buckets.c.n, over={"order_by": buckets.c.bucket})
    below = (buckets.c.base + running - buckets.c.n).label("below")
    ranked = select(buckets.c.bucket, buckets.c.n, buckets.c.total, below).subquery().c
    lower, upper = ranks(ranked.total)
    return (
        select(
            func.min(ranked.bucket).label("first"),
            func.max(ranked.bucket).label("last"),
            func.min(ranked.below).label("base"),
            func.min(ranked.total).label("total"),
        )
        .where(ranked.below <= upper, ranked.below + ranked.n > lower)
        .cte(name)
    )


def the_middle(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """The ranks of the middle in sorted order, from 0; both are the same where the number is odd."""
    return (total - _number(1)) // _number(2), total // _number(2)


def the_ninth_tenth(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """The rank that nine in ten do not exceed (nearest rank), from 0; twice."""
    rank = (_number(9) * total + _number(9)) // _number(10) - _number(1)
    return rank, rank


def latencies_at(ranks: Ranks) -> Select[*tuple[Any, ...]]:
    """The latencies at these ranks of one pair, sorted, each with the number of all."""
    correction = _correction()
    wide = _position(_wide(correction), ranks, "wide_place")
    position = _position(_fine(correction, wide), ranks, "fine_place")
    latency = _RECORD.latency_us
    rank = position.c.base + func.row_number().over(order_by=latency) - _number(1)
    ranked = (
        select(latency, rank.label("rank"), position.c.total)
        .select_from(position.join(_RECORDS, true()))
        .where(
            *_RECORDS_OF_PAIR,
            _shifted(latency, FINE).in_((position.c.first, position.c.last)),
            _RECORD.released_at > _AFTER,
            _RECORD.released_at <= _UNTIL,
        )
        .subquery()
        .c
    )
    lower, upper = ranks(ranked.total)
    return (
        select(ranked.latency_us, ranked.total)
        .where(or_(ranked.rank == lower, ranked.rank == upper))
        .order_by(ranked.latency_us)
    )


_AT_THE_MIDDLE: Final = latencies_at(the_middle)
_MIDDLE: Final = DirectSelect(_AT_THE_MIDDLE.with_only_columns(_AT_THE_MIDDLE.selected_columns[0]), int)


def middle_latencies(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> Sequence[int]:
    """The middle of the sorted latencies, in microseconds, of releases in ``(after, until]``.

    :return: nothing when there are none, one value of an odd count, two of an even one.
    """
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    return _MIDDLE.all(connection, bounds)
