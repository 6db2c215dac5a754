"""How many connections each worker of a server has, so that they come out even.

All workers accept from one queue. Left to themselves, the first to wake takes most of what has come, and the
others idle. ``SO_REUSEPORT`` spreads by chance, and a worker that dies takes its queue with it.
"""

from __future__ import annotations

from multiprocessing.sharedctypes import RawArray
from typing import Final

_SLOTS: Final = 1024
_NOBODY: Final = -1

_counts = RawArray("i", [_NOBODY] * _SLOTS)
"""Made before any worker is forked."""


def note(worker: int, count: int = _NOBODY) -> None:
    """Store how many connections the worker of this age has; without a number, it accepts no more."""
    _counts[worker % _SLOTS] = count


def least() -> int:
    """The connections of the worker that has the fewest; 0 where nobody is known."""
    return min((n for n in _counts[:] if n != _NOBODY), default=0)
