"""The outcomes of transfers over time, and the values of the dashboard's charts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from app.console.estimates.summary import EstimateSummary
from app.console.shell.formats import figure
from app.db.database import Database
from app.db.engine import reading
from app.network.rules.terms import NetworkTerms, TokenTerms
from app.network.snapshot import SnapshotSource
from app.transfers.queries.trends import DAILY, HOURLY, SpanKey, trend_counts
from app.transfers.rules.sums import Trends
from app.values.amounts import PPM, format_units
from app.values.codes import SendKind
from app.values.identifiers import PoolKey, RouteKey
from app.values.times import hour_of, hour_start, rfc3339


class Period(StrEnum):
    """The period that a trend shows."""

    DAY = "day"
    MONTH = "month"


class _Shape(Struct, frozen=True):
    """The ``hours`` of each span and the number of ``spans``. The last span has not ended yet."""

    hours: int
    spans: int


_SHAPES: Final[Mapping[Period, _Shape]] = {
    Period.DAY: _Shape(HOURLY, 24),
    Period.MONTH: _Shape(DAILY, 30),
}


class SpanCount(Struct, frozen=True):
    """Transfers that began in one span, from ``at`` on, by their present outcome."""

    at: datetime
    begun: int
    completed: int
    refund: int
    failed: int

    @property
    def under_way(self) -> int:
        """The transfers that are not over: neither paid out, nor failed, nor in a refund."""
        return self.begun - self.completed - self.refund - self.failed

    @property
    def success_ppm(self) -> int | None:
        """The share of paid out transfers among those paid out or in a refund, in millionths, rounded down.

        A transfer that failed on its source took nothing, so it does not count. None without any transfer.
        """
        decided = self.completed + self.refund
        return self.completed * PPM // decided if decided else None


class TokenTrend(Struct, frozen=True):
    """One token in whole tokens, over all chains: what was sent, and the fees of what was paid out.

    ``retained`` is what was sent less what was received: fees, and on a curve the difference in price too, so
    it may be negative. ``paid_for`` is the sent amount that was paid out.
    """

    symbol: str
    sent: tuple[Fraction, ...]
    retained: tuple[Fraction, ...]
    paid_for: Fraction

    @property
    def volume(self) -> Fraction:
        return sum(self.sent, Fraction())

    @property
    def fees(self) -> Fraction:
        """All that was retained."""
        return sum(self.retained, Fraction())

    @property
    def fees_ppm(self) -> int | None:
        """The retained share, in millionths, rounded down; None where nothing was paid out."""
        return self.fees * PPM // self.paid_for if self.paid_for else None


class Trend(Struct, frozen=True):
    """The transfers that began since ``spans[0].at``. Tokens with the most transfers are first.

    ``unmeasured``: transfers of tokens whose decimals are not configured. They count, their amounts do not.
    """

    period: Period
    spans: tuple[SpanCount, ...]
    total: SpanCount
    tokens: tuple[TokenTrend, ...]
    unmeasured: int


def trend(database: Database, snapshots: SnapshotSource, period: Period) -> Trend:
    """The outcomes of the transfers of the last 24 hours, or of the last 30 days of UTC.

    The feed's stored sums are read: a few rows for each way and span.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, shape = snapshots.current().terms, _SHAPES[period]
    last = hour_of(database.clock()) // shape.hours
    first = last - shape.spans + 1
    sums: dict[int, Trends] = defaultdict(Trends)
    amounts: dict[_Units, dict[int, Trends]] = defaultdict(lambda: defaultdict(Trends))
    unmeasured = 0
    with reading(database.reads) as connection:
        for key, courses in trend_counts(connection, shape.hours, first):
            span = min(key.span, last)  # a clock that is ahead of this one counts as now
            sums[span].add(courses)
            units = _units(terms, key)
            if units is None:
                unmeasured += courses.begun
            else:
                amounts[units][span].add(courses)
    total, spans = Trends(), range(first, last + 1)
    for each in sums.values():
        total.add(each)
    return Trend(
        period=period,
        spans=tuple(_count(hour_start(span * shape.hours), sums[span]) for span in spans),
        total=_count(hour_start(first * shape.hours), total),
        tokens=_token_trends(amounts, spans),
        unmeasured=unmeasured,
    )


class _Units(NamedTuple):
    """Amounts that can be added up: of one token, with these decimals on the source and the destination."""

    symbol: str
    src_decimals: int
    dst_decimals: int


def _token_trends(amounts: Mapping[_Units, Mapping[int, Trends]], spans: range) -> tuple[TokenTrend, ...]:
    """Each token in whole tokens, with the decimals of each chain."""
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
            token.retained[span] += paid_for - Fraction(courses.received, dst)
    return tuple(
        TokenTrend(
            symbol,
            tuple(found[symbol].sent[span] for span in spans),
            tuple(found[symbol].retained[span] for span in spans),
            found[symbol].paid_for,
        )
        for symbol in sorted(found, key=lambda symbol: (-begun[symbol], symbol))
    )


class _TokenSums(Struct):
    paid_for: Fraction = Fraction()
    sent: dict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    retained: dict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))


def _count(at: datetime, courses: Trends) -> SpanCount:
    return SpanCount(at, courses.begun, courses.completed, courses.refund, courses.failed)


def _units(terms: NetworkTerms, key: SpanKey) -> _Units | None:
    """The token's units on the source and on the destination; None while either is not configured.

    A pegged transfer moves the tokens of its pair, where the pair has its own.
    """
    pegged = terms.pegged.get(RouteKey(key.symbol, key.src_chain_id, key.dst_chain_id))
    src: TokenTerms | None = None
    dst: TokenTerms | None = None
    if pegged is not None and key.kind in (SendKind.DEPOSIT, SendKind.BURN):
        src, dst = pegged.src_token, pegged.dst_token
    src = src or terms.tokens.get(PoolKey(key.src_chain_id, key.symbol))
    dst = dst or terms.tokens.get(PoolKey(key.dst_chain_id, key.symbol))
    return None if src is None or dst is None else _Units(key.symbol, src.decimals, dst.decimals)


FULL_BAR: Final = 100
"""Height of the highest bar."""

_PLACES: Final = 2
"""Decimals of amounts of one token or more. Smaller ones show ``_SMALL_PLACES``."""

_SMALL_PLACES: Final = 6


class TokenRow(Struct, frozen=True):
    """One token's line: amounts cut to a few decimals, and bars of 0 to ``FULL_BAR``."""

    symbol: str
    volume: str
    volume_bars: tuple[int, ...]
    fees: str
    fees_bars: tuple[int, ...]
    fees_ppm: int | None


def estimates_chart(summary: EstimateSummary) -> dict[str, Any]:
    """Estimates by the minute: given and refused."""
    return {
        "unit": "minute",
        "at": [rfc3339(minute.at) for minute in summary.minutes],
        "bars": [
            _bars("Answered", "done", (minute.answered for minute in summary.minutes)),
            _bars("Refused", "bad", (minute.refused for minute in summary.minutes)),
        ],
    }


def trend_chart(trend: Trend) -> dict[str, Any]:
    """Transfers by the hour or day: their outcomes, and the share that was paid out, in percent."""
    success = [span.success_ppm for span in trend.spans]
    return {
        "unit": "hour" if trend.period is Period.DAY else "day",
        "at": [rfc3339(span.at) for span in trend.spans],
        "bars": [
            _bars("Completed", "done", (span.completed for span in trend.spans)),
            _bars("In progress", "busy", (span.under_way for span in trend.spans)),
            _bars("Refund", "warn", (span.refund for span in trend.spans)),
            _bars("Failed on source", "bad", (span.failed for span in trend.spans)),
        ],
        # Only for drawing: to a tenth of a percent, cut.
        "line": {
            "label": "Success rate",
            "values": [None if ppm is None else ppm * 1_000 // PPM / 10 for ppm in success],
        },
    }


def token_rows(tokens: Iterable[TokenTrend]) -> list[TokenRow]:
    """A line for each token."""
    return [
        TokenRow(
            symbol=token.symbol,
            volume=_amount_down(token.volume),
            volume_bars=_heights(token.sent),
            fees=_amount_down(token.fees),
            fees_bars=_heights(token.retained),
            fees_ppm=token.fees_ppm,
        )
        for token in tokens
    ]


def _bars(label: str, look: str, values: Iterable[int]) -> dict[str, Any]:
    return {"label": label, "look": look, "values": list(values)}


def _amount_down(amount: Fraction) -> str:
    """Whole tokens with a few decimals, cut towards zero."""
    places = _PLACES if abs(amount) >= 1 or not amount else _SMALL_PLACES
    return figure(format_units(int(amount * 10**places), places))


def _heights(values: Sequence[Fraction]) -> tuple[int, ...]:
    """Heights relative to the largest value. Values above 0 are at least 1 high, negative ones 0."""
    most = max((*values, Fraction()))
    return tuple(max(1, int(FULL_BAR * value / most)) if value > 0 else 0 for value in values)
