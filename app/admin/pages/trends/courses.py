"""What became of transfers over time: how many, how much, what was kept as fees, how many went well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from app.db.engine import reading
from app.domain.amounts import PPM
from app.domain.codes import SendKind
from app.domain.estimate.inputs import TokenTerms
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.keys import PoolKey, RouteKey
from app.domain.times import hour_of, hour_start
from app.domain.transfer.effects import Courses
from app.queries.transfers.trends import DAILY, HOURLY, SpanKey, course_counts
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
    sums: dict[int, Courses] = defaultdict(Courses)
    amounts: dict[_Units, dict[int, Courses]] = defaultdict(lambda: defaultdict(Courses))
    unmeasured = 0
    with reading(gateway.reads) as connection:
        for key, courses in course_counts(connection, shape.hours, first):
            span = min(key.span, last)  # a clock that is ahead of this one counts as now
            sums[span].add(courses)
            units = _units(terms, key)
            if units is None:
                unmeasured += courses.begun
            else:
                amounts[units][span].add(courses)
    spans = range(first, last + 1)
    return Trend(
        period=period,
        spans=tuple(_count(hour_start(span * shape.hours), sums[span]) for span in spans),
        total=_count(hour_start(first * shape.hours), _sum(sums.values())),
        tokens=_token_trends(amounts, spans),
        unmeasured=unmeasured,
    )


class _Units(NamedTuple):
    """Amounts that can be added up: of one token, with these decimals on the source and the destination."""

    symbol: str
    src_decimals: int
    dst_decimals: int


def _token_trends(amounts: Mapping[_Units, Mapping[int, Courses]], spans: range) -> tuple[TokenTrend, ...]:
    """Each token in whole tokens, whatever its decimals are on a chain."""
    begun: dict[str, int] = defaultdict(int)
    found: dict[str, _TokenSums] = defaultdict(_TokenSums)
    for units, counted in amounts.items():
        src, dst = 10**units.src_decimals, 10**units.dst_decimals
        token = found[units.symbol]
        for span, courses in counted.items():
            paid_for = Fraction(courses.paid_for, src)
            begun[units.symbol] += courses.begun
            token.paid_for += paid_for
            token.sent[span] += Fraction(courses.sent, src)
            token.kept[span] += paid_for - Fraction(courses.received, dst)
    return tuple(
        TokenTrend(
            symbol,
            tuple(found[symbol].sent[span] for span in spans),
            tuple(found[symbol].kept[span] for span in spans),
            found[symbol].paid_for,
        )
        for symbol in sorted(found, key=lambda symbol: (-begun[symbol], symbol))
    )


@dataclass(slots=True)
class _TokenSums:
    paid_for: Fraction = Fraction()
    sent: dict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    kept: dict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))


def _sum(every: Iterable[Courses]) -> Courses:
    total = Courses()
    for each in every:
        total.add(each)
    return total


def _count(at: datetime, courses: Courses) -> SpanCount:
    return SpanCount(at, courses.begun, courses.completed, courses.refund, courses.failed)


def _units(terms: NetworkTerms, key: SpanKey) -> _Units | None:
    """Of the token on the source and on the destination; None while either is not configured.

    A pegged transfer moves the tokens of its pair, where that has its own.
    """
    pegged = terms.pegged.get(RouteKey(key.symbol, key.src_chain_id, key.dst_chain_id))
    src: TokenTerms | None = None
    dst: TokenTerms | None = None
    if pegged is not None and key.kind in (SendKind.DEPOSIT, SendKind.BURN):
        src, dst = pegged.src_token, pegged.dst_token
    src = src or terms.tokens.get(PoolKey(key.src_chain_id, key.symbol))
    dst = dst or terms.tokens.get(PoolKey(key.dst_chain_id, key.symbol))
    return None if src is None or dst is None else _Units(key.symbol, src.decimals, dst.decimals)
