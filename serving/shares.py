"""What the workers of a server know of each other: how many connections each has, so that they come out even.

All workers accept from one queue. Left alone, the first to wake takes most of what has come, and the others
idle. ``SO_REUSEPORT`` spreads by chance, and a worker that dies takes its queue with it.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

_SLOTS: Final = 1024
_COUNTS: Final = struct.Struct(f"={_SLOTS}i")
_STOPPING_AT: Final = _COUNTS.size
_COUNT: Final = struct.Struct("=i")
_NOBODY: Final = -1


class Shares:
    """A count for each worker, in memory that all processes of one server share."""

    def __init__(self) -> None:
        """Make it before any worker is forked."""
        self._memory = mmap.mmap(-1, _COUNTS.size + 1)
        _COUNTS.pack_into(self._memory, 0, *[_NOBODY] * _SLOTS)

    def note(self, worker: int, count: int) -> None:
        """Keep the number of connections of a worker.

        :param worker: its age, as gunicorn counts them.
        """
        _COUNT.pack_into(self._memory, worker % _SLOTS * _COUNT.size, count)

    def forget(self, worker: int) -> None:
        """The worker accepts no more."""
        self.note(worker, _NOBODY)

    def least(self) -> int:
        """The connections of the worker that has the fewest; 0 where nobody is known."""
        return min((n for n in _COUNTS.unpack_from(self._memory) if n != _NOBODY), default=0)

    def is_first(self, worker: int) -> bool:
        """Whether no other worker that accepts comes before this one: it does what one of them shall do."""
        counts = _COUNTS.unpack_from(self._memory)
        first = next((slot for slot, count in enumerate(counts) if count != _NOBODY), None)
        return first is None or first == worker % _SLOTS

    @property
    def stopping(self) -> bool:
        """Whether the server is being stopped, and not only some of its workers."""
        return bool(self._memory[_STOPPING_AT])

    def stop(self) -> None:
        """Note that it is."""
        self._memory[_STOPPING_AT] = 1


SHARES: Final = Shares()
"""Of the server in this process and of the workers forked from it."""
