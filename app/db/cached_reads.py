"""Facts for many requests, read once and cached for a moment in the memory of one process.

What is cached, and what that promises, is in docs/decisions/0031-cached-facts.md.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Final, TypeVar

from app.db.timeouts import Waiting
from app.db.writes import Writes
from app.values.errors import Unavailable

T = TypeVar("T")

HINTS_MAX_AGE_SECONDS: Final = 300
"""The age limit of hints that are no facts of an answer, such as how long a route usually takes."""

MOST: Final = 4096
"""How many answers are cached: a kilobyte each, and more than a process reads in a second."""


class _Reading:
    """One answer, or the read that will give it.

    ``read_at``: monotonic seconds, before the query was sent; ``mark``: that of the writes at that moment.
    """

    __slots__ = ("answer", "done", "mark", "outcome", "read_at", "traceback")

    def __init__(self, read_at: float, mark: object) -> None:
        self.read_at = read_at
        self.mark = mark
        self.done = False
        self.answer: Any = None
        self.outcome: Future[None] = Future()
        """Ends when the read does: with its error, or cancelled where its reader was stopped."""
        self.traceback: TracebackType | None = None


class CachedReads:
    """One for each process, shared by its threads or greenlets. It has no thread of its own.

    An answer is used again while it is younger than the allowed age, and while no writing transaction has
    ended in this process since. A caller waits for the answer where another caller is reading the same.
    """

    def __init__(
        self,
        max_age_seconds: float,
        writes: Writes,
        monotonic: Callable[[], float] = time.monotonic,
        most: int = MOST,
    ) -> None:
        """
        :param max_age_seconds: 0 caches nothing: every call reads.
        :param writes: of the engines by which this process writes.
        :param most: how many answers are cached; beyond that the oldest are dropped.
        """
        self._max_age = max_age_seconds
        self._writes = writes
        self._monotonic = monotonic
        self._most = most
        # Held only for look-ups, never while a caller waits.
        self._lock = threading.Lock()
        self._readings: dict[Hashable, _Reading] = {}
        self._oldest_given = 0.0

    def run_read(self, key: Hashable, read: Callable[[], T]) -> tuple[T, float]:
        """The answer of ``read``, new or cached, and its age in seconds.

        It shows all that was committed ``max_age_seconds`` before this call, and all that this process has
        written before it.

        :param key: what is read; the same key must mean the same query.
        :param read: one statement, so that its answer is one snapshot. What it raises is raised to all who
            wait for it, and is not cached.
        """
        now = self._monotonic()
        reading = self._readings.get(key)
        if reading is None or not reading.done or not self._good(reading, now):
            if not self._max_age:
                return read(), self._monotonic() - now
            reading = self._shared(key, read, now)
            now = self._monotonic()
        answer: T = reading.answer
        age = now - reading.read_at
        self._oldest_given = max(self._oldest_given, age)
        return answer, age

    def oldest_given(self) -> float:
        """The age of the oldest answer returned since the last call of this, in seconds; 0 for none."""
        oldest, self._oldest_given = self._oldest_given, 0.0
        return oldest

    def _good(self, reading: _Reading, now: float) -> bool:
        return reading.mark is self._writes.mark and now - reading.read_at < self._max_age

    def _shared(self, key: Hashable, read: Callable[[], Any], called_at: float) -> _Reading:
        """The answer of a read that is valid for a call at that time: by another caller, else our own."""
        while True:
            reading, mine = self._found_or_begun(key, called_at)
            if mine:
                self._read(key, read, reading)
                return reading
            try:
                with Waiting() as seconds:
                    error = reading.outcome.exception(seconds)
            except CancelledError:
                continue  # its reader was stopped, so another one reads
            except TimeoutError:
                raise Unavailable("the database does not answer: try again in a few seconds") from None
            if error is not None:
                # Each raises it with the traceback of the read. Otherwise it would grow with each waiting
                # caller.
                raise error.with_traceback(reading.traceback)
            return reading

    def _found_or_begun(self, key: Hashable, called_at: float) -> tuple[_Reading, bool]:
        """The read that is valid for this call; True where it is a new one, which the caller has to do."""
        with self._lock:
            found = self._readings.get(key)
            if found is not None:
                if self._good(found, called_at):
                    return found, False
                del self._readings[key]  # so that they are in the order of their beginnings
            elif len(self._readings) >= self._most:
                del self._readings[next(iter(self._readings))]
            # Age and mark are taken before the query is sent.
            begun = self._readings[key] = _Reading(self._monotonic(), self._writes.mark)
            return begun, True

    def _read(self, key: Hashable, read: Callable[[], Any], reading: _Reading) -> None:
        try:
            reading.answer = read()
        except Exception as error:
            reading.traceback = error.__traceback__
            self._forget(key, reading)
            reading.outcome.set_exception(error)
            raise
        except BaseException:
            # A greenlet that is killed, or a thread that ends with the process: not an error of the read.
            self._forget(key, reading)
            reading.outcome.cancel()
            raise
        reading.done = True
        reading.outcome.set_result(None)

    def _forget(self, key: Hashable, reading: _Reading) -> None:
        with self._lock:
            if self._readings.get(key) is reading:
                del self._readings[key]
