"""Counters for metrics (app/monitoring/request_metrics.py) and for tables.

For tables it is counted in memory while requests are answered, and written every few seconds. A request adds
one to a number under a lock and never waits for the database. A thread writes the sums and starts again from
0; all processes add to the same rows. The thread starts with the first count of a process, because a server
forks after loading, and threads do not survive a fork.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from sqlalchemy import Connection, Engine

from app.db.engine import writing
from app.observability.outages import FAILURES


class Counters(Protocol):
    """Called by use cases with what happened. They neither wait nor raise."""

    def estimate(self, reason: str) -> None:
        """An estimate was answered.

        :param reason: why it was refused; empty where there was an estimate.
        """

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        """Lines of a feed were validated, and the accepted ones are committed.

        :param outcomes: by the type of event, and ``accepted``, ``repeated`` or ``refused``.
        """


class _Nothing:
    """Counts nothing, where metrics are off."""

    def estimate(self, reason: str) -> None:
        pass

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        pass


NOTHING_COUNTED: Final[Counters] = _Nothing()


Counted = TypeVar("Counted", bound=Hashable)

LAST_SECONDS: Final = 3.0
"""How long the end of a process waits for its last counts to be written."""

_log = logging.getLogger(__name__)


class BatchedCounts(ABC, Generic[Counted]):
    """One of a kind for each application. Thread-safe; after a fork the child starts from 0.

    :param seconds: between two writes; 0 counts nothing.
    """

    what: ClassVar[str]
    """What is counted, for the name of the thread and for the log."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime], seconds: float) -> None:
        self._engine, self._clock, self._seconds = engine, clock, seconds
        self._restart()
        _LIVING.add(self)

    @abstractmethod
    def _write(self, connection: Connection, counts: Mapping[Counted, int]) -> None:
        """Add counts to the tables, in a writing transaction."""

    def _restart(self) -> None:
        """Start without counts; locks and threads of a parent process cannot be used."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._counts: dict[Counted, int] = {}
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def _add(self, counted: Counted) -> None:
        if not self._seconds:
            return
        with self._lock:
            self._counts[counted] = self._counts.get(counted, 0) + 1
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(
            target=_write_regularly,
            args=(weakref.ref(self), self._ending, self._seconds),
            name=f"counts of {self.what}",
            daemon=True,
        )
        self._thread.start()

    def flush(self) -> int:
        """Add what was counted to the tables. Returns how much that was.

        The counts get the time at which they are written. Counts that cannot be written are added the next
        time.
        """
        with self._writing:
            with self._lock:
                counts, self._counts = self._counts, {}
            if not counts:
                return 0
            try:
                with writing(self._engine) as connection:
                    self._write(connection, counts)
            except BaseException:
                with self._lock:
                    for counted, count in counts.items():
                        self._counts[counted] = self._counts.get(counted, 0) + count
                raise
        return sum(counts.values())

    def end(self) -> None:
        """Write the rest, and stop. Waits no longer than ``LAST_SECONDS``."""
        thread = self._thread
        self._ending.set()
        if thread is not None:
            thread.join(LAST_SECONDS)


def _write_regularly(
    counts: weakref.ref[BatchedCounts[Any]], ending: threading.Event, seconds: float
) -> None:
    """The thread of one process. It holds no reference, so it ends with its application."""
    while True:
        last = ending.wait(seconds)
        alive = counts()
        if alive is None:
            return
        try:
            alive.flush()
        except Exception as error:
            # The counts stay in memory for the next time, and the log has the cause.
            FAILURES.report(
                _log, logging.WARNING, "counts of %s could not be written yet", alive.what, error=error
            )
        if last:
            return
        del alive


_LIVING: weakref.WeakSet[BatchedCounts[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for counts in list(_LIVING):
        counts._restart()


@atexit.register
def _at_exit() -> None:
    for counts in list(_LIVING):
        counts.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
