"""Counting in windows: how one stands, several limits at once, and a store that cannot be reached."""

from __future__ import annotations

from typing import Any

import pytest
from limits.errors import StorageError

from app.runtime.limits.windows import REST_SECONDS, Windows, limits_of
from tests.timer import Timer


def standing(windows: Windows, text: str, who: str = "me") -> tuple[int, int, bool]:
    found = windows.count(limits_of(text), who)
    assert 1 <= found.reset_seconds <= 3600
    return found.limit, found.remaining, found.is_over


def test_it_counts_down() -> None:
    windows = Windows("requests", "memory://")
    seen = [standing(windows, "3/hour") for _ in range(5)]
    assert seen == [(3, 2, False), (3, 1, False), (3, 0, False), (3, 0, True), (3, 0, True)]
    assert standing(windows, "3/hour", "another") == (3, 2, False)
    assert standing(Windows("asks", "memory://"), "3/hour") == (3, 2, False)


def test_of_several_limits_the_one_with_the_least_left_is_told() -> None:
    windows = Windows("requests", "memory://")
    limits = "4/hour;3/minute"
    assert [standing(windows, limits) for _ in range(4)] == [
        (3, 2, False),
        (3, 1, False),
        (3, 0, False),
        (3, 0, True),
    ]
    # What the shorter one refused did not count for the longer one.
    assert standing(windows, "4/hour") == (4, 0, False)


def test_no_limit_is_no_limit() -> None:
    assert limits_of("") == ()
    with pytest.raises(ValueError, match="no limit"):
        Windows("requests", "memory://").count((), "me")
    with pytest.raises(ValueError, match="often"):
        limits_of("often")


class Broken:
    """A store that cannot be reached."""

    def __init__(self) -> None:
        self.asked = 0

    def hit(self, *_args: Any) -> bool:
        self.asked += 1
        raise StorageError(ConnectionError("refused"))


def test_without_its_store_a_process_counts_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    timer, broken = Timer(), Broken()
    windows = Windows("requests", "memory://", timer)
    shared = windows._shared
    monkeypatch.setattr(windows, "_shared", broken)
    assert [standing(windows, "2/hour")[2] for _ in range(4)] == [False, False, True, True]
    assert broken.asked == 1, "the store is left alone for a while"
    timer.now += REST_SECONDS
    assert standing(windows, "2/hour")[2]
    assert broken.asked == 2
    timer.now += REST_SECONDS
    monkeypatch.setattr(windows, "_shared", shared)
    assert standing(windows, "2/hour") == (2, 1, False)
