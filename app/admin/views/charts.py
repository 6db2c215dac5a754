"""What the dashboard draws: numbers for its charts, and bars small enough to stand in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from app.admin.formats import figure
from app.admin.pages.estimate_summary import EstimateSummary
from app.admin.pages.trends.courses import Period, TokenTrend, Trend
from app.domain.amounts import PPM, format_units
from app.domain.times import rfc3339

FULL_BAR: Final = 100
"""Height of the highest bar."""

_PLACES: Final = 2
"""Decimals of amounts of one token or more; smaller ones show ``_SMALL_PLACES``."""

_SMALL_PLACES: Final = 6


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One token's line: amounts as people read them, cut to a few decimals, and bars of 0 to ``FULL_BAR``."""

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
    """Transfers by the hour or day: what became of them, and the share that went well, in percent."""
    return {
        "unit": "hour" if trend.period is Period.DAY else "day",
        "at": [rfc3339(span.at) for span in trend.spans],
        "bars": [
            _bars("Completed", "done", (span.completed for span in trend.spans)),
            _bars("In progress", "busy", (span.under_way for span in trend.spans)),
            _bars("Refund", "warn", (span.refund for span in trend.spans)),
            _bars("Failed on source", "bad", (span.failed for span in trend.spans)),
        ],
        "line": {"label": "Success rate", "values": [_percent(span.success_ppm) for span in trend.spans]},
    }


def token_rows(tokens: Iterable[TokenTrend]) -> list[TokenRow]:
    """A line for each token."""
    return [
        TokenRow(
            symbol=token.symbol,
            volume=_amount_down(token.volume),
            volume_bars=_heights(token.sent),
            fees=_amount_down(token.fees),
            fees_bars=_heights(token.kept),
            fees_ppm=token.fees_ppm,
        )
        for token in tokens
    ]


def _bars(label: str, look: str, values: Iterable[int]) -> dict[str, Any]:
    return {"label": label, "look": look, "values": list(values)}


def _percent(ppm: int | None) -> float | None:
    """For drawing alone: to a tenth, cut."""
    return None if ppm is None else ppm * 1_000 // PPM / 10


def _amount_down(amount: Fraction) -> str:
    """Whole tokens with a few decimals, cut towards zero."""
    places = _PLACES if abs(amount) >= 1 or not amount else _SMALL_PLACES
    return figure(format_units(int(amount * 10**places), places))


def _heights(values: Sequence[Fraction]) -> tuple[int, ...]:
    """Each against the largest; what is not nothing is at least 1 high. Under zero counts as nothing."""
    most = max((*values, Fraction()))
    return tuple(max(1, int(FULL_BAR * value / most)) if value > 0 else 0 for value in values)
