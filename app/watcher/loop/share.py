"""Backfill gives way: while others write it rests after each write for as long as the write took.

So it takes no more than half of the writer's time where anybody else could use it. Where nobody else writes,
resting would help nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from app.services.watching.advance import Advanced


class WriterShare:
    """Shared by the chains of one process.

    The time of a write includes its wait for the writer's lock, so the more the others write, the longer the
    backfill waits between two of its own writes. That others write shows in the log: there is something
    between the end of one write and the start of the next. SQLite does not let writers in by turns, and
    somebody may have waited in vain, so there it always rests.

    :param monotonic: seconds that only grow.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._writing = Lock()
        self._free_at = 0.0
        self._log_end = -1
        self._alone = False

    def wait(self) -> float:
        """Seconds until a write may begin; another chain's may still come between."""
        return max(0.0, self._free_at - self._monotonic())

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether a write may begin now. It has to be done within the context, and told by :meth:`wrote`."""
        if not self._writing.acquire(blocking=False):
            yield False
            return
        try:
            if self.wait() > 0:
                yield False
                return
            started = self._monotonic()
            self._alone = False
            yield True
            now = self._monotonic()
            self._free_at = now if self._alone else now + (now - started)
        finally:
            self._writing.release()

    def wrote(self, written: Advanced) -> None:
        """Tell what was written within a turn."""
        self._alone = written.by_turns and written.log_start == self._log_end
        self._log_end = written.log_end
