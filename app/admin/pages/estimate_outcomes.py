"""What became of the estimates that were asked for lately."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from app.admin.pages.refunds import share_down
from app.domain.codes import ErrCode
from app.models.engine import reading
from app.queries.transfers.by_status import estimate_counts
from app.runtime.gateway import Gateway

LONGEST: Final = timedelta(days=1)
_UNIX_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class OutcomeLine:
    """Estimates that ended alike. ``code`` is ``err.code``, ``reason`` the header X-Gateway-Reason.

    ``share`` is of all that were asked for.
    """

    code: int
    name: str
    reason: str
    count: int
    share: str


@dataclass(frozen=True, slots=True)
class OutcomeMinute:
    """One minute: how many estimates were given and how many refused."""

    at: datetime
    answered: int
    refused: int


@dataclass(frozen=True, slots=True)
class EstimateOutcomes:
    """The outcomes since ``since``: refusals, the most frequent first, and every minute of the time."""

    since: datetime
    asked: int
    answered: int
    refusals: tuple[OutcomeLine, ...]
    minutes: tuple[OutcomeMinute, ...]


def estimate_outcomes(gateway: Gateway, span: timedelta = timedelta(hours=1)) -> EstimateOutcomes:
    """What became of estimates in the whole minutes of the last ``span``, at most a day.

    Each process adds its counts every few seconds, so the last of them are still to come.
    """
    last = (gateway.clock() - _UNIX_START) // _MINUTE
    first = last - min(span, LONGEST) // _MINUTE + 1
    with reading(gateway.reads) as connection:
        rows = estimate_counts(connection, first)
    answered, refused = Counter[int](), Counter[int]()
    ends = Counter[tuple[int, str]]()
    for row in rows:
        if row.code:
            refused[row.minute] += row.asked
            ends[row.code, row.reason] += row.asked
        else:
            answered[row.minute] += row.asked
    asked = answered.total() + refused.total()
    return EstimateOutcomes(
        since=_at(first),
        asked=asked,
        answered=answered.total(),
        refusals=tuple(
            OutcomeLine(code, _name(code), reason, count, share_down(count, asked))
            for (code, reason), count in sorted(ends.items(), key=lambda end: (-end[1], end[0]))
        ),
        minutes=tuple(
            OutcomeMinute(_at(minute), answered[minute], refused[minute]) for minute in range(first, last + 1)
        ),
    )


def _at(minute: int) -> datetime:
    return _UNIX_START + minute * _MINUTE


def _name(code: int) -> str:
    return ErrCode(code).name.removeprefix("ErrCode_") if code in set(ErrCode) else str(code)
