"""How much of the writer's time backfills take: half of it at most, where others could use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from app.watcher.services.advance import Advanced


class WriterShare:
    """The share of the writer's time for backfills, of all chains of one process.

    The time of a write includes its wait for the writer's lock. So the more others write, the longer the
    backfill waits between two of its own writes. That others write shows in the log: something lies between
    the end of one write and the start of the next. SQLite does not let writers in by turns, and another may
    have waited in vain, so there it always rests.

    :param monotonic: seconds that never go back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._writing = Lock()
        self._free_at = 0.0
        self._log_end = -1
        self._only_writer = False

    def wait(self) -> float:
        """Seconds until a write may begin. Another chain may still take that turn."""
        return max(0.0, self._free_at - self._monotonic())

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether a write may begin now. It has to happen within the context and be reported by
        :meth:`wrote`.
        """
        if not self._writing.acquire(blocking=False):
            yield False
            return
        try:
            if self.wait() > 0:
                yield False
                return
            started = self._monotonic()
            self._only_writer = False
            yield True
            now = self._monotonic()
            self._free_at = now if self._only_writer else now + (now - started)
        finally:
            self._writing.release()

    def wrote(self, written: Advanced) -> None:
        """Report what was written within a turn."""
        self._only_writer = written.by_turns and written.log_start == self._log_end
        self._log_end = written.log_end
