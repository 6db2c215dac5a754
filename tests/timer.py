"""A monotonic clock that a test moves, and a wait by the real one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Timer:
    """Tells the seconds that it was set to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def eventually(happens: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for it, by the clock of this machine."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
