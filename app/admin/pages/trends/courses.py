"""What became of transfers over time: how many, how much, what was kept as fees, how many went well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import Row

from app.domain.amounts import PPM
from app.domain.codes import SendKind
from app.domain.estimate.inputs import TokenTerms
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.keys import ChainId, PoolKey, RouteKey
from app.domain.times import hour_of, hour_start
from app.domain.transfer.effects import Courses
from app.models.engine import reading
from app.queries.transfers.courses import DAILY, HOURLY, course_counts
from app.runtime.gateway import Gateway


class Period(StrEnum):
    """What a trend shows."""

    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class _Shape:
    """``hours`` each span has, and how many ``spans`` there are; the last one is not over yet."""

    hours: int
    spans: int


_SHAPES: Final[Mapping[Period, _Shape]] = {
    Period.DAY: _Shape(HOURLY, 24),
    Period.MONTH: _Shape(DAILY, 30),
}


@dataclass(frozen=True, slots=True)
class SpanCount:
    """Transfers that began in one span, from ``at`` on, and what became of them by now."""

    at: datetime
    begun: int
    completed: int
    refund: int
    failed: int

    @property
    def under_way(self) -> int:
        """Those that are not over: neither paid out, nor failed, nor in a refund."""
        return self.begun - self.completed - self.refund - self.failed

    @property
    def success_ppm(self) -> int | None:
        """Of those that were paid out or went into a refund, how many were paid out; in millionths, cut.

        What failed on its source took nothing, so it does not count. None where there is none yet.
        """
        decided = self.completed + self.refund
        return self.completed * PPM // decided if decided else None


@dataclass(frozen=True, slots=True)
class TokenTrend:
    """One token in whole tokens, over all chains: what was sent, and of what was paid out what was kept.

    ``kept`` is what was sent less what was received: fees, and on a curve the difference in price too, so it
    may be negative. ``paid_for`` is what that is of.
    """

    symbol: str
    sent: tuple[Fraction, ...]
    kept: tuple[Fraction, ...]
    paid_for: Fraction

    @property
    def volume(self) -> Fraction:
        """All that was sent."""
        return sum(self.sent, Fraction())

    @property
    def fees(self) -> Fraction:
        """All that was kept."""
        return sum(self.kept, Fraction())

    @property
    def fees_ppm(self) -> int | None:
        """The share that was kept, in millionths, rounded down; None where nothing was paid out."""
        return self.fees * PPM // self.paid_for if self.paid_for else None


@dataclass(frozen=True, slots=True)
class Trend:
    """The transfers that began since ``spans[0].at``. Tokens have those of the most transfers first.

    ``unmeasured``: so many are of tokens whose decimals are not configured; they count, their amounts do not.
    """

    period: Period
    spans: tuple[SpanCount, ...]
    total: SpanCount
    tokens: tuple[TokenTrend, ...]
    unmeasured: int


def trend(gateway: Gateway, period: Period) -> Trend:
    """What became of the transfers of the last 24 hours, or of the last 30 days of UTC.

    Sums that the feed keeps are read: some rows for each way and span.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, shape = gateway.snapshots.current().terms, _SHAPES[period]
    last = hour_of(gateway.clock()) // shape.hours
    first = last - shape.spans + 1
    with reading(gateway.reads) as connection:
        rows = course_counts(connection, shape.hours, first)
    sums: dict[int, Courses] = defaultdict(Courses)
    tokens: dict[str, _TokenSums] = defaultdict(_TokenSums)
    unmeasured = 0
    for row in rows:
        span = min(row.span, last)  # a clock that is ahead of this one counts as now
        sums[span].add(_courses(row))
        ends = _decimals(terms, row)
        if ends is None:
            unmeasured += row.begun
            continue
        tokens[row.symbol].add(span, row, *ends)
    spans = range(first, last + 1)
    return Trend(
        period=period,
        spans=tuple(_count(hour_start(span * shape.hours), sums[span]) for span in spans),
        total=_count(hour_start(first * shape.hours), _sum(sums.values())),
        tokens=tuple(
            found.trend(symbol, spans)
            for symbol, found in sorted(tokens.items(), key=lambda item: (-item[1].begun, item[0]))
        ),
        unmeasured=unmeasured,
    )


@dataclass(slots=True)
class _TokenSums:
    begun: int = 0
    paid_for: Fraction = Fraction()
    sent: dict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    kept: dict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))

    def add(self, span: int, row: Row[*tuple[Any, ...]], src_decimals: int, dst_decimals: int) -> None:
        paid_for = Fraction(row.paid_for, 10**src_decimals)
        self.begun += row.begun
        self.paid_for += paid_for
        self.sent[span] += Fraction(row.sent, 10**src_decimals)
        self.kept[span] += paid_for - Fraction(row.received, 10**dst_decimals)

    def trend(self, symbol: str, spans: Iterable[int]) -> TokenTrend:
        sent = tuple(self.sent[span] for span in spans)
        return TokenTrend(symbol, sent, tuple(self.kept[span] for span in spans), self.paid_for)


def _courses(row: Row[*tuple[Any, ...]]) -> Courses:
    return Courses(begun=row.begun, completed=row.completed, refund=row.refund, failed=row.failed)


def _sum(every: Iterable[Courses]) -> Courses:
    total = Courses()
    for each in every:
        total.add(each)
    return total


def _count(at: datetime, courses: Courses) -> SpanCount:
    return SpanCount(at, courses.begun, courses.completed, courses.refund, courses.failed)


def _decimals(terms: NetworkTerms, row: Row[*tuple[Any, ...]]) -> tuple[int, int] | None:
    """Of the token on the source and on the destination; None while either is not configured.

    A pegged transfer moves the tokens of its pair, where that has its own.
    """
    src_id, dst_id = ChainId(row.src_chain_id), ChainId(row.dst_chain_id)
    pegged = terms.pegged.get(RouteKey(row.symbol, src_id, dst_id))
    src: TokenTerms | None = None
    dst: TokenTerms | None = None
    if row.kind in (SendKind.DEPOSIT, SendKind.BURN) and pegged is not None:
        src, dst = pegged.src_token, pegged.dst_token
    src = src or terms.tokens.get(PoolKey(src_id, row.symbol))
    dst = dst or terms.tokens.get(PoolKey(dst_id, row.symbol))
    return None if src is None or dst is None else (src.decimals, dst.decimals)
