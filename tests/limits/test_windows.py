"""Limits, counts and what is left, by a clock that the test sets."""

from __future__ import annotations

import pytest

from app.http.limits import IN_MEMORY, Limit, LimitStore, LimitUsage, OwnCounts, limits_of
from tests.timer import Timer


def test_waiting_as_stated_allows_request() -> None:
    timer = Timer()
    store, limits = LimitStore(IN_MEMORY, timer), limits_of("1/minute")
    assert store.count("me", limits) == LimitUsage(1, 0, 60, is_over=False)
    timer.now += 0.5
    usage = store.count("me", limits)
    assert usage == LimitUsage(1, 0, 60, is_over=True), "59.5 seconds are left"
    timer.now += usage.reset_seconds
    assert not store.count("me", limits).is_over


def test_tightest_limit_is_reported() -> None:
    timer = Timer()
    store = LimitStore(IN_MEMORY, timer)
    limits = limits_of("3/second;4/hour")
    assert store.count("me", limits) == LimitUsage(3, 2, 1, is_over=False)
    timer.now += 1
    assert store.count("me", limits) == LimitUsage(3, 2, 1, is_over=False)
    assert store.count("me", limits) == LimitUsage(3, 1, 1, is_over=False)
    timer.now += 1
    assert store.count("me", limits) == LimitUsage(4, 0, 3598, is_over=False)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("", []),
        ("20/second", [(20, 1)]),
        ("1000/hour;100/minute", [(100, 60), (1000, 3600)]),
        ("5 per 2 Hours, 1/day|9 / 10minutes", [(9, 600), (5, 7200), (1, 86_400)]),
        ("7per month", [(7, 2_592_000)]),
        ("7/years", [(7, 31_104_000)]),
    ],
)
def test_notation_of_limits(text: str, limits: list[tuple[int, int]]) -> None:
    assert list(limits_of(text)) == limits


@pytest.mark.parametrize(
    "text",
    ["often", " ", "5", "5/", "/minute", "5/fortnight", "5/minute;", "5/minutely", "-5/minute", "²/day"],
)
def test_malformed_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="limit"):
        limits_of(text)


def test_memory_has_an_end() -> None:
    """Many callers push out the oldest counters, and never the newest."""
    timer = Timer()
    counts, limits = OwnCounts(timer, most_counters=100), [Limit(5, 60)]
    for number in range(10_000):
        counts.count(f"caller {number}", limits)
        assert len(counts._windows) <= 100
    assert counts.count("caller 9999", limits) == [(2, 60_000)]
    assert counts.count("caller 0", limits) == [(1, 60_000)]


def test_eviction_retains_returning_caller() -> None:
    timer = Timer()
    counts, limits = OwnCounts(timer, most_counters=100), [Limit(5, 60)]
    counts.count("first", limits)
    for number in range(60):
        counts.count(f"caller {number}", limits)
    timer.now += 60
    counts.count("first", limits)
    for number in range(45):
        counts.count(f"another {number}", limits)
    assert len(counts._windows) < 61, "the oldest half went"
    assert counts.count("first", limits) == [(2, 60_000)]
