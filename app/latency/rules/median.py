"""How long transfers take: the 7-day window and the exact median."""

from __future__ import annotations

from datetime import datetime, timedelta

WINDOW = timedelta(days=7)
"""The latency operation answers for the last 7 days (docs/interface/pools-and-latency.md#latency)."""

FINE = 19
"""Latencies are counted in buckets of 2^19 µs (0.5 s): ``latency >> FINE``. Of two million transfers in
a window the bucket of the median has some thousands (docs/decisions/0010-latency-counts.md)."""

_SECOND = 1_000_000


def window(now: datetime) -> tuple[datetime, datetime]:
    """The bounds of the window at ``now``: after the first, up to and including the second."""
    return now - WINDOW, now


def median_ranks(total: int) -> tuple[int, int]:
    """The ranks of the median of ``total`` sorted values, from 0; both are the same where it is odd."""
    return (total - 1) // 2, total // 2


def median_seconds(twice_us: int) -> float:
    """The median, in seconds, from twice the median in microseconds, which for an even number of latencies is
    the sum of both medians. One division of exact integers, so the result is the nearest float.
    """
    return twice_us / (2 * _SECOND)


def seconds(microseconds: int) -> float:
    """The nearest float."""
    return microseconds / _SECOND
