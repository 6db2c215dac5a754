"""How many connections each worker of a server has, so that they become equal.

All workers accept from one queue. Without this, the first to wake takes most connections, and the others
idle. ``SO_REUSEPORT`` spreads by chance, and a worker that dies takes its queue with it.
"""

from __future__ import annotations

from multiprocessing.sharedctypes import RawArray
from typing import Final

_SLOTS: Final = 1024
_NONE: Final = -1

_counts = RawArray("i", [_NONE] * _SLOTS)
"""Made before any worker is forked."""


def note(worker: int, count: int = _NONE) -> None:
    """Store how many connections the worker of this age has; without a number, it accepts no more."""
    _counts[worker % _SLOTS] = count


def least() -> int:
    """The connections of the worker with the fewest; 0 before any worker is known."""
    return min((n for n in _counts[:] if n != _NONE), default=0)
