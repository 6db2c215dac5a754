"""Counters in the memory of one process (docs/decisions/0055-limits.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from threading import Lock
from typing import Final

from app.runtime.limits.counts import Limit

MOST_COUNTERS: Final = 100_000
"""Some 25 MB. Beyond, the oldest half of them goes: whoever has that many addresses is not stopped by a limit
of each, and memory must have an end."""

_FEW: Final = 1_000


class OwnCounts:
    """Counters that no other process sees."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, most_counters: int = MOST_COUNTERS
    ) -> None:
        self._monotonic = monotonic
        self._most = most_counters
        self._windows: dict[tuple[str, Limit], tuple[int, float]] = {}
        self._sweep_at = min(_FEW, most_counters)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._windows)

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :class:`app.runtime.limits.counts.Counts` says."""
        now = self._monotonic()
        counted: list[tuple[int, int]] = []
        with self._lock:
            for limit in limits:
                key = name, limit
                known = self._windows.get(key)
                if known is None or known[1] <= now:
                    self._windows.pop(key, None)  # so that the order is that of their beginnings
                    known = 0, now + limit.seconds
                times, ends = known[0] + 1, known[1]
                self._windows[key] = times, ends
                counted.append((times, int((ends - now) * 1000)))
                if times > limit.amount:
                    break
            if len(self._windows) > self._sweep_at:
                self._sweep(now)
        return counted

    def _sweep(self, now: float) -> None:
        """Forget what has ended, and where that is not enough the oldest half, so that sweeps are seldom."""
        kept = {key: window for key, window in self._windows.items() if window[1] > now}
        if len(kept) > self._most // 2:
            kept = dict(islice(kept.items(), len(kept) - self._most // 2, None))
        self._windows = kept
        self._sweep_at = min(self._most, max(_FEW, 2 * len(kept)))
