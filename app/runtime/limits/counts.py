"""Counters by name, each gone when its window has ended, of one process (docs/decisions/0055-limits.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from threading import Lock
from typing import Final, NamedTuple

MOST_COUNTERS: Final = 100_000
"""Some 25 MB. Beyond, the oldest half of them goes: whoever has that many addresses is not stopped by a limit
of each, and memory must have an end."""


class Limit(NamedTuple):
    """So many times in a window of so many seconds."""

    amount: int
    seconds: int


class OwnCounts:
    """Counters that no other process sees. Thread-safe."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, most_counters: int = MOST_COUNTERS
    ) -> None:
        self._monotonic = monotonic
        self._most = most_counters
        self._windows: dict[tuple[str, Limit], tuple[int, float]] = {}
        self._lock = Lock()

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """Count once by each limit, up to the first that it is over.

        :return: for each of these the times in its window, this one included, and the milliseconds that are
            left of it.
        """
        now = self._monotonic()
        counted: list[tuple[int, int]] = []
        with self._lock:
            for limit in limits:
                key = name, limit
                times, ends = self._windows.get(key, (0, now))
                if ends <= now:
                    self._windows.pop(key, None)  # so that the order is that of their beginnings
                    times, ends = 0, now + limit.seconds
                times += 1
                self._windows[key] = times, ends
                counted.append((times, int((ends - now) * 1000)))
                if times > limit.amount:
                    break
            if len(self._windows) > self._most:
                self._windows = dict(islice(self._windows.items(), self._most // 2, None))
        return counted
