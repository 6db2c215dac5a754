"""How long did the transfers between two chains take?

As a rule the middle is kept (app/queries/latency/kept.py). Where it is not, one statement finds it among the
sorted latencies in three steps: counts give the wide bucket of the middle, more counts give the fine bucket
within it, and the records of that bucket give the latencies. All are corrected to the window
(app/queries/latency/correction.py).

Each step is joined to the one before. Subqueries would be planned and run again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import CTE, ColumnElement, Connection, Select, Subquery, func, or_, select, true, union_all

from app.domain.keys import ChainId
from app.domain.transfer.latency import FINE, WIDE
from app.models.connections.direct import DirectSelect
from app.models.latencies import LatencyCount
from app.queries.latency.correction import (
    AFTER,
    DST,
    RECORD,
    RECORDS,
    RECORDS_OF_PAIR,
    SRC,
    UNTIL,
    correction_to_window,
    number,
    shifted,
    total_of,
)
from app.queries.latency.kept import kept_middle

# A short name: the driver parses a statement of more than 4,096 characters anew each time.
_COUNTS = LatencyCount.__table__.alias("c")
_COUNT = _COUNTS.c
_COUNTS_OF_PAIR = (_COUNT.src_chain_id == SRC, _COUNT.dst_chain_id == DST)

Ranks = Callable[[ColumnElement[int]], tuple[ColumnElement[int], ColumnElement[int]]]
"""From the number of all latencies to the two ranks that are asked for; both are the same where it is one."""


def _wide(correction: CTE) -> Subquery:
    """Every wide bucket with its number of latencies, and how many are in the window at all."""
    counts = select(_COUNT.bucket, _COUNT.n).where(*_COUNTS_OF_PAIR, _COUNT.width == number(WIDE))
    corrected = select(shifted(correction.c.latency_us, WIDE), correction.c.n)
    both = union_all(counts, corrected).subquery()
    buckets = select(both.c.bucket, total_of(both.c.n).label("n")).group_by(both.c.bucket).subquery()
    return select(
        buckets.c.bucket,
        buckets.c.n,
        number(0).label("base"),
        total_of(buckets.c.n, over={}).label("total"),
    ).subquery()


def _fine(correction: CTE, position: CTE) -> Subquery:
    """The same for the fine buckets around the middle; ``base`` latencies are below them."""
    whole = (position.c.base, position.c.total)
    first, end = position.c.first * number(1 << WIDE), (position.c.last + number(1)) * number(1 << WIDE)
    counts = (
        select(_COUNT.bucket, _COUNT.n, *whole)
        .select_from(position.join(_COUNTS, true()))
        .where(*_COUNTS_OF_PAIR, _COUNT.width == number(FINE))
        .where(_COUNT.bucket >= shifted(first, FINE), _COUNT.bucket < shifted(end, FINE))
    )
    corrected = (
        select(shifted(correction.c.latency_us, FINE), correction.c.n, *whole)
        .select_from(position.join(correction, true()))
        .where(correction.c.latency_us >= first, correction.c.latency_us < end)
    )
    both = union_all(counts, corrected).subquery()
    return (
        select(
            both.c.bucket,
            total_of(both.c.n).label("n"),
            func.min(both.c.base).label("base"),
            func.min(both.c.total).label("total"),
        )
        .group_by(both.c.bucket)
        .subquery()
    )


def _position(buckets: Subquery, ranks: Ranks, name: str) -> CTE:
    """The bucket of the ranks (two where they are in two), and how many latencies are below it."""
    running = total_of(buckets.c.n, over={"order_by": buckets.c.bucket})
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
    return (total - number(1)) // number(2), total // number(2)


def nearest_rank(percent: int) -> Ranks:
    """The rank that so many of a hundred do not exceed (nearest rank), from 0; twice."""

    def ranks(total: ColumnElement[int]) -> tuple[ColumnElement[int], ColumnElement[int]]:
        rank = (number(percent) * total + number(99)) // number(100) - number(1)
        return rank, rank

    return ranks


def latencies_at(ranks: Ranks) -> Select[*tuple[Any, ...]]:
    """The latencies at these ranks of one pair, sorted, each with the number of all."""
    correction = correction_to_window()
    wide = _position(_wide(correction), ranks, "wide_place")
    position = _position(_fine(correction, wide), ranks, "fine_place")
    latency = RECORD.latency_us
    rank = position.c.base + func.row_number().over(order_by=latency) - number(1)
    ranked = (
        select(latency, rank.label("rank"), position.c.total)
        .select_from(position.join(RECORDS, true()))
        .where(
            *RECORDS_OF_PAIR,
            shifted(latency, FINE).in_((position.c.first, position.c.last)),
            RECORD.released_at > AFTER,
            RECORD.released_at <= UNTIL,
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
    kept = kept_middle(connection, src_chain_id, dst_chain_id, after, until)
    if kept is not None:
        return kept
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    return _MIDDLE.all(connection, bounds)
