"""How many connections each worker of a server has, so that they come out even."""

from __future__ import annotations

import mmap
import struct
from typing import Final

_SLOTS: Final = 1024
_COUNT: Final = struct.Struct("=i")
_NOBODY: Final = -1


class Shares:
    """A count for each worker in memory that all processes of one server share."""

    def __init__(self) -> None:
        """Make it before any worker is forked."""
        self._memory = mmap.mmap(-1, _SLOTS * _COUNT.size)
        for slot in range(_SLOTS):
            self.forget(slot)

    def note(self, worker: int, count: int) -> None:
        """Keep the number of connections of a worker."""
        _COUNT.pack_into(self._memory, worker % _SLOTS * _COUNT.size, count)

    def forget(self, worker: int) -> None:
        """The worker accepts no more."""
        self.note(worker, _NOBODY)

    def least(self) -> int:
        """The connections of the worker that has the fewest; 0 where nobody is known."""
        counts = struct.unpack(f"={_SLOTS}i", self._memory)
        return min((count for count in counts if count != _NOBODY), default=0)
