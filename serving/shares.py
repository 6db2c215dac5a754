"""How many connections each worker of a server has, so that they come out even.

All workers accept from one queue. Left to themselves, the first to wake takes most of what has come, and the
others idle. ``SO_REUSEPORT`` spreads by chance, and a worker that dies takes its queue with it.
"""

from __future__ import annotations

from multiprocessing.sharedctypes import RawArray, RawValue
from typing import Final

_SLOTS: Final = 1024
_NOBODY: Final = -1


class Shares:
    """A count for each worker, in memory that all processes of one server share."""

    def __init__(self) -> None:
        """Make it before any worker is forked."""
        self._counts = RawArray("i", [_NOBODY] * _SLOTS)
        self._stopping = RawValue("b", False)

    def note(self, worker: int, count: int = _NOBODY) -> None:
        """Store the number of connections of a worker; without one, it accepts no more.

        :param worker: its age, as gunicorn counts them.
        """
        self._counts[worker % _SLOTS] = count

    def least(self) -> int:
        """The connections of the worker that has the fewest; 0 where nobody is known."""
        return min((n for n in self._counts[:] if n != _NOBODY), default=0)

    def is_stopping(self) -> bool:
        """Whether the server is being stopped, and not only some of its workers."""
        return bool(self._stopping.value)

    def stop(self) -> None:
        """Note that it is."""
        self._stopping.value = True


SHARES: Final = Shares()
"""Of the server in this process and of the workers forked from it."""
