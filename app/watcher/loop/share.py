"""Backfill takes no more than half of the writer's time: after a write it waits as long as the write took."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class WriterShare:
    """Shared by the chains of one process.

    The time of a write includes its wait for the writer's lock, so the more the others write, the longer the
    backfill waits between two of its own writes.

    :param monotonic: seconds that only grow.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._writing = Lock()
        self._free_at = 0.0

    def wait(self) -> float:
        """Seconds until a write may begin; another chain's may still come between."""
        return max(0.0, self._free_at - self._monotonic())

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether a write may begin now. It has to be done within the context."""
        if not self._writing.acquire(blocking=False):
            yield False
            return
        try:
            if self.wait() > 0:
                yield False
                return
            started = self._monotonic()
            yield True
            now = self._monotonic()
            self._free_at = now + (now - started)
        finally:
            self._writing.release()
