"""A monotonic clock that a test moves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Timer:
    """Tells the seconds that it was set to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now
