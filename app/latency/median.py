"""How long transfers take: the 7-day window and the exact median."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

WINDOW = timedelta(days=7)
"""The latency operation answers for the last 7 days (docs/interface.md#latency)."""

FINE = 19
"""Latencies are counted in buckets of 2^19 µs (0.5 s): ``latency >> FINE``. Of two million transfers in
a window the bucket of the median has some thousands (docs/decisions/0010-latency-counts.md)."""

_MICROSECONDS_PER_SECOND = 1_000_000


def window(now: datetime) -> tuple[datetime, datetime]:
    """The bounds of what is counted at ``now``: after the first, up to and including the second."""
    return now - WINDOW, now


def middle_ranks(total: int) -> tuple[int, int]:
    """The ranks of the middle of ``total`` sorted values, from 0; both are the same where it is odd."""
    return (total - 1) // 2, total // 2


def median_seconds(middle_us: Sequence[int]) -> float:
    """The median, in seconds, from the middle of the sorted latencies in whole microseconds.

    :param middle_us: the one middle value of an odd count, the two of an even one; their mean
        is the median. One division of exact integers, so the result is the nearest float.
    :raises ValueError: for any other number of values.
    """
    if len(middle_us) not in (1, 2):
        raise ValueError("a median has one middle value or two")
    return sum(middle_us) / (len(middle_us) * _MICROSECONDS_PER_SECOND)
