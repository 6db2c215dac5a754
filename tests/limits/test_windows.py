"""How a caller is told to stand with the limits, by a clock that the test sets."""

from __future__ import annotations

from app.runtime.limits.store import IN_MEMORY, LimitStore
from app.runtime.limits.windows import Standing, Windows, limits_of
from tests.timer import Timer


def test_whoever_waits_as_long_as_told_may_ask_again() -> None:
    timer = Timer()
    windows, limits = Windows("requests", LimitStore(IN_MEMORY, timer)), limits_of("1/minute")
    assert windows.count(limits, "me") == Standing(1, 0, 60, is_over=False)
    timer.now += 0.5
    told = windows.count(limits, "me")
    assert told == Standing(1, 0, 60, is_over=True), "59.5 seconds are left"
    timer.now += told.reset_seconds
    assert not windows.count(limits, "me").is_over


def test_the_limit_with_the_least_left_is_told() -> None:
    timer = Timer()
    windows = Windows("requests", LimitStore(IN_MEMORY, timer))
    limits = limits_of("3/second;4/hour")
    assert windows.count(limits, "me") == Standing(3, 2, 1, is_over=False)
    timer.now += 1
    assert windows.count(limits, "me") == Standing(3, 2, 1, is_over=False)
    assert windows.count(limits, "me") == Standing(3, 1, 1, is_over=False)
    timer.now += 1
    assert windows.count(limits, "me") == Standing(4, 0, 3598, is_over=False)
