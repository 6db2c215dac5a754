"""How much a reporter may report in a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Final

from app.domain.amounts import grouped
from app.domain.times import Epoch

MAX_EVENTS: Final = 1_000_000_000
MAX_SECONDS: Final = 31 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Quota:
    """At most so many events in each period of so many seconds, counted from the Unix epoch."""

    events: int
    seconds: int

    def period(self, now: datetime) -> Epoch:
        """The period that counts now."""
        return Epoch.at(now, self.seconds)

    def retry_after(self, now: datetime) -> int:
        """Whole seconds until the next period begins, at least one."""
        return max(1, ceil((self.period(now).ends_at - now).total_seconds()))

    def __str__(self) -> str:
        return f"{grouped(self.events)} events in {grouped(self.seconds)} s"


def quota_fault(events: int | None, seconds: int | None) -> str | None:
    """What is wrong with a quota of these; None where nothing is, or where there is none."""
    if events is None and seconds is None:
        return None
    if events is None or seconds is None:
        return "a quota needs both a number of events and a number of seconds"
    if not 1 <= events <= MAX_EVENTS:
        return f"the events of a quota must be from 1 to {grouped(MAX_EVENTS)} events, not {events}"
    if not 1 <= seconds <= MAX_SECONDS:
        return (
            f"the period of a quota must be from 1 to {grouped(MAX_SECONDS)} seconds (31 days), not {seconds}"
        )
    return None
