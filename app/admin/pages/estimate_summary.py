"""How the estimates of the last hour ended: how many were given, how many refused and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.admin.pages.estimate_labels import REFUSAL_ADVICE, refusal_words
from app.admin.pages.refunds import share_down
from app.db.engine import reading
from app.domain.codes import ErrCode
from app.domain.times import MINUTE, minute_of, minute_start
from app.queries.estimates import estimate_counts
from app.runtime.gateway import Gateway

LONGEST: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RefusalCount:
    """Refusals with the same code and reason: ``err.code`` and the header X-Gateway-Reason.

    ``words`` say it for people, ``advice`` where to look (empty: nowhere). ``share`` is of all
    estimates that were asked for.
    """

    code: int
    name: str
    reason: str
    words: str
    advice: str
    count: int
    share: str


@dataclass(frozen=True, slots=True)
class MinuteCount:
    """One minute: how many estimates were given and how many refused."""

    at: datetime
    answered: int
    refused: int


@dataclass(frozen=True, slots=True)
class EstimateSummary:
    """The estimates since ``since``. Refusals have the most frequent first; ``minutes`` has every minute."""

    since: datetime
    asked: int
    answered: int
    refusals: tuple[RefusalCount, ...]
    minutes: tuple[MinuteCount, ...]


def estimate_summary(gateway: Gateway, span: timedelta = timedelta(hours=1)) -> EstimateSummary:
    """How estimates ended in the whole minutes of the last ``span``, at most a day.

    Processes write their counts every few seconds, so the last ones are still missing.
    """
    last = minute_of(gateway.clock())
    first = last - min(span, LONGEST) // MINUTE + 1
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
    return EstimateSummary(
        since=minute_start(first),
        asked=asked,
        answered=answered.total(),
        refusals=tuple(
            RefusalCount(
                code=code,
                name=_name(code),
                reason=reason,
                words=refusal_words(code, reason),
                advice=REFUSAL_ADVICE.get(reason, ""),
                count=count,
                share=share_down(count, asked),
            )
            for (code, reason), count in sorted(ends.items(), key=lambda end: (-end[1], end[0]))
        ),
        minutes=tuple(
            MinuteCount(minute_start(minute), answered[minute], refused[minute])
            for minute in range(first, last + 1)
        ),
    )


def _name(code: int) -> str:
    return ErrCode(code).name.removeprefix("ErrCode_") if code in set(ErrCode) else str(code)
