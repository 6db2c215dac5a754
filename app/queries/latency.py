"""How long did the transfers between two chains take?

The database finds the middle of the sorted latencies in one statement: from counts the wide bucket in which
it lies, of that one the fine bucket, and the records of that one. Counts are of the records released after
some moment; those between it and the window's start, and any of the future, are added or taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    cast,
    func,
    literal_column,
    select,
    union_all,
)

from app.domain.latency import FINE, WIDE
from app.models.direct import DirectSelect
from app.models.latencies import LatencyCount, LatencyWindow
from app.models.transfers import LatencyRecord
from app.models.types import UtcTime

_NEVER: Final = datetime.max.replace(tzinfo=UTC)

_SRC = bindparam("src", type_=BigInteger)
_DST = bindparam("dst", type_=BigInteger)
_AFTER = bindparam("after", type_=UtcTime)
_UNTIL = bindparam("until", type_=UtcTime)

_OF_PAIR = (LatencyRecord.src_chain_id == _SRC, LatencyRecord.dst_chain_id == _DST)
_RELEASED = LatencyRecord.released_at
_SINCE = func.coalesce(
    select(LatencyWindow.since).scalar_subquery(), bindparam("never", _NEVER, type_=UtcTime), type_=UtcTime
)


def _bucket(latency: ColumnElement[int], width: int) -> ColumnElement[int]:
    # The width in the text, not as a parameter: only so is it the indexed expression.
    return latency.bitwise_rshift(literal_column(str(width)))


def _signed(sign: int, *which: ColumnElement[bool]) -> Select[int, int]:
    return select(
        LatencyRecord.latency_us.label("us"), literal_column(str(sign), BigInteger).label("n")
    ).where(*_OF_PAIR, *which)


_CORRECTION = union_all(
    _signed(1, _RELEASED > _AFTER, _RELEASED <= _UNTIL, _RELEASED <= _SINCE),
    _signed(-1, _RELEASED > _SINCE, _RELEASED <= _AFTER),
    _signed(-1, _RELEASED > _SINCE, _RELEASED > _UNTIL),
).cte("correction")


def _counts(width: int, within: CTE | None = None) -> CTE:
    """Bucket, count and the number of latencies in lower buckets, at one width.

    :param within: the place of the middle at the next larger width; only what it covers is counted.
    """
    counts = select(LatencyCount.bucket, LatencyCount.n).where(
        LatencyCount.src_chain_id == _SRC,
        LatencyCount.dst_chain_id == _DST,
        LatencyCount.width == literal_column(str(width)),
    )
    correction = select(_bucket(_CORRECTION.c.us, width).label("bucket"), _CORRECTION.c.n)
    if within is not None:
        first, end = _ends(within)
        counts = counts.where(LatencyCount.bucket >= first, LatencyCount.bucket < end)
        bucket = _bucket(_CORRECTION.c.us, width)
        correction = correction.where(bucket >= first, bucket < end)
    both = union_all(counts, correction).subquery()
    n = cast(func.sum(both.c.n), BigInteger)
    return select(both.c.bucket, n.label("n")).group_by(both.c.bucket).cte(f"counts_{width}")


def _ends(place: CTE) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """The first fine bucket of a place among the wide ones, and the one after its last."""
    scale = 1 << (WIDE - FINE)
    first = select(place.c.first * scale).scalar_subquery()
    return first, select((place.c.last + 1) * scale).scalar_subquery()


def _place(counts: CTE, width: int, wider: CTE | None = None) -> CTE:
    """Where the middle lies: the bucket of it (the two of them, of an even number), and what is below."""
    n = counts.c.n
    below: ColumnElement[int] = cast(func.sum(n).over(order_by=counts.c.bucket), BigInteger) - n
    total: ColumnElement[int] = cast(func.sum(n).over(), BigInteger)
    if wider is not None:
        below, total = below + wider.c.below, wider.c.total
    ranked = select(counts.c.bucket, n, below.label("below"), total.label("total"))
    if wider is not None:
        ranked = ranked.select_from(counts.join(wider, literal_column("1 = 1")))
    r = ranked.subquery()
    lower, upper = (r.c.total - 1) // 2, r.c.total // 2  # places in the order, from 0
    return (
        select(
            func.min(r.c.bucket).label("first"),
            func.max(r.c.bucket).label("last"),
            func.min(r.c.below).label("below"),
            func.min(r.c.total).label("total"),
        )
        .where(r.c.below <= upper, r.c.below + r.c.n > lower)
        .cte(f"place_{width}")
    )


_WIDE_PLACE = _place(_counts(WIDE), WIDE)
_FINE_PLACE = _place(_counts(FINE, _WIDE_PLACE), FINE, _WIDE_PLACE)


def _of_place(column: ColumnElement[Any]) -> Any:
    return select(column).scalar_subquery()


def _or_none(number: ColumnElement[int]) -> ColumnElement[int]:
    """How many rows, 0 where there is no middle."""
    return func.coalesce(_of_place(number), 0)


_MIDDLE = DirectSelect(
    select(LatencyRecord.latency_us)
    .where(
        *_OF_PAIR,
        _bucket(LatencyRecord.__table__.c.latency_us, FINE).in_(
            (_of_place(_FINE_PLACE.c.first), _of_place(_FINE_PLACE.c.last))
        ),
        _RELEASED > _AFTER,
        _RELEASED <= _UNTIL,
    )
    .order_by(LatencyRecord.latency_us)
    .limit(_or_none(2 - _FINE_PLACE.c.total % 2))
    .offset(_or_none((_FINE_PLACE.c.total - 1) // 2 - _FINE_PLACE.c.below)),
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
