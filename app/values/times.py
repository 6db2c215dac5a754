"""Times: counted from the Unix epoch, cut into epochs, written in RFC 3339; and ages in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

Clock = Callable[[], datetime]
"""Gives the time now, aware, in UTC. It is passed in, so that tests and replays can set the time."""

UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
MILLISECOND: Final = timedelta(milliseconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def system_clock() -> datetime:
    return datetime.now(UTC)


def minute_of(at: datetime) -> int:
    """Whole minutes from the Unix epoch to ``at``, rounded down; :func:`minute_start` is the reverse."""
    return (at - UNIX_EPOCH) // MINUTE


def minute_start(minute: int) -> datetime:
    return UNIX_EPOCH + minute * MINUTE


def hour_of(at: datetime) -> int:
    """Whole hours from the Unix epoch to ``at``, rounded down."""
    return (at - UNIX_EPOCH) // HOUR


def hour_start(hour: int) -> datetime:
    return UNIX_EPOCH + hour * HOUR


def day_of(at: datetime) -> int:
    """Whole days from the Unix epoch to ``at``, rounded down: days begin at midnight in UTC."""
    return (at - UNIX_EPOCH) // DAY


def day_start(day: int) -> datetime:
    return UNIX_EPOCH + day * DAY


def unix_microseconds(at: datetime) -> int:
    """Negative before the Unix epoch."""
    return (at - UNIX_EPOCH) // MICROSECOND


def unix_milliseconds(at: datetime) -> int:
    """Rounded down; negative before the Unix epoch."""
    return (at - UNIX_EPOCH) // MILLISECOND


def from_unix_microseconds(microseconds: int) -> datetime:
    """:raises OverflowError: for a time outside the years 1 to 9999."""
    return UNIX_EPOCH + microseconds * MICROSECOND


class Epoch(Struct, frozen=True):
    """The span of time in which a pool's volume counts, in Unix seconds: ``start`` <= time < ``end``.

    Epochs of one length follow each other from the Unix epoch on (docs/interface/pools-and-latency.md#epoch).
    """

    start: int
    end: int

    @classmethod
    def at(cls, now: datetime, seconds: int) -> Epoch:
        """The epoch of this length, in seconds, that ``now`` is in."""
        start = (now - UNIX_EPOCH) // timedelta(seconds=seconds) * seconds
        return cls(start, start + seconds)

    @property
    def starts_at(self) -> datetime:
        return UNIX_EPOCH + timedelta(seconds=self.start)

    @property
    def ends_at(self) -> datetime:
        """The first moment after the epoch."""
        return UNIX_EPOCH + timedelta(seconds=self.end)


def rfc3339(at: datetime, timespec: str = "auto") -> str:
    """Write an aware time in UTC with a ``Z``, such as ``2026-01-31T12:00:00Z``.

    :param timespec: the precision, as ``datetime.isoformat`` takes it; ``auto`` writes microseconds
        where they are not 0.
    """
    return at.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime:
    """Read a time with an offset, in UTC. Digits after the microsecond are cut.

    :raises ValueError: for any other text, and for a time outside the years 1 to 9999.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError("must be a time with an offset such as 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999") from None


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def age_in_words(age: timedelta) -> str:
    """Such as ``12 s ago``, ``3 min ago``, ``5 h ago``, ``2 d ago``: the largest whole unit, cut.

    Under a second, and in the future: ``just now``.
    """
    seconds = age // timedelta(seconds=1)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def span_in_words(duration: timedelta) -> str:
    """A duration in its two largest units, such as ``2 h 5 min``; parts of a second are cut."""
    seconds = int(duration.total_seconds())
    parts: list[str] = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or (size == 1 and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
