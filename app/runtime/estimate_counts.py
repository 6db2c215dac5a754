"""Counts of the outcomes of estimates: in memory while requests are answered, written every few seconds.

A request adds one to a number under a lock and never waits for the database. A thread writes the
sums and starts again from 0; all processes add to the same rows. It starts with the first estimate of a
process, because a server forks after loading, and threads do not survive a fork.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, delete

from app.domain.codes import ErrCode, Reason
from app.domain.errors import GatewayError
from app.domain.times import MINUTE, minute_of
from app.models.engine import writing
from app.models.estimates import EstimateCount
from app.models.upsert import add_up
from app.outages import FAILURES

KEPT: Final = timedelta(days=7)
PRUNE_EVERY: Final = 60
"""Minutes between two deletions of what is older than ``KEPT``."""

LAST_SECONDS: Final = 3.0
"""How long the end of a process waits for its last counts to be written."""

ANSWERED: Final = (int(ErrCode.ERROR_CODE_UNDEFINED), "")
"""Code and reason under which estimates that were given are counted."""

_FAILED: Final = (int(ErrCode.ERROR_CODE_COMMON), Reason.INTERNAL.value)

_log = logging.getLogger(__name__)

CountedOutcome = tuple[int, str]
"""``err.code`` and reason of an answer to an estimate; ``ANSWERED`` for an estimate."""


class EstimateCounts:
    """One per application. Thread-safe; after a fork the child begins from nothing.

    :param seconds: between two writes; 0 counts nothing.
    """

    def __init__(self, engine: Engine, clock: Callable[[], datetime], seconds: float) -> None:
        self._engine, self._clock, self._seconds = engine, clock, seconds
        self._pruned: int | None = None
        self._begin_anew()
        _LIVING.add(self)

    def _begin_anew(self) -> None:
        """Start without counts; locks and threads of a parent process cannot be used."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._counts: dict[CountedOutcome, int] = {}
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def answered(self) -> None:
        """Count an estimate that was given."""
        self._add(ANSWERED)

    def refused(self, error: Exception) -> None:
        """Count one that was refused; any exception but ``GatewayError`` counts as internal."""
        self._add((int(error.code), error.reason.value) if isinstance(error, GatewayError) else _FAILED)

    def _add(self, outcome: CountedOutcome) -> None:
        if not self._seconds:
            return
        with self._lock:
            self._counts[outcome] = self._counts.get(outcome, 0) + 1
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(
            target=_write_regularly,
            args=(weakref.ref(self), self._ending, self._seconds),
            name="estimate-counts",
            daemon=True,
        )
        self._thread.start()

    def flush(self) -> int:
        """Add what was counted to the table; returns how many estimates that were.

        They count for the minute in which they are written. What cannot be written is kept for the next time.
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
                    for outcome, count in counts.items():
                        self._counts[outcome] = self._counts.get(outcome, 0) + count
                raise
        return sum(counts.values())

    def _write(self, connection: Connection, counts: dict[CountedOutcome, int]) -> None:
        minute = minute_of(self._clock())
        rows: list[dict[str, Any]] = [
            {"minute": minute, "code": code, "reason": reason, "count": count}
            for (code, reason), count in sorted(counts.items())
        ]
        add_up(connection, EstimateCount, rows)
        if self._pruned is None or minute - self._pruned >= PRUNE_EVERY:
            oldest = minute - KEPT // MINUTE
            connection.execute(delete(EstimateCount).where(EstimateCount.minute < oldest))
            self._pruned = minute

    def end(self) -> None:
        """Write what is left, and stop. Waits no longer than ``LAST_SECONDS``."""
        thread = self._thread
        self._ending.set()
        if thread is not None:
            thread.join(LAST_SECONDS)


def _write_regularly(counts: weakref.ref[EstimateCounts], ending: threading.Event, seconds: float) -> None:
    """The thread of one process. It holds no reference, so it ends with its application."""
    while True:
        last = ending.wait(seconds)
        alive = counts()
        if alive is None:
            return
        try:
            alive.flush()
        except Exception as error:
            # The counts are kept for the next time, and the log has the cause.
            text = "counts of estimates could not be written yet"
            FAILURES.report(_log, logging.WARNING, text, error=error)
        if last:
            return
        del alive


_LIVING: weakref.WeakSet[EstimateCounts] = weakref.WeakSet()


def _after_fork() -> None:
    for counts in list(_LIVING):
        counts._begin_anew()


@atexit.register
def _at_exit() -> None:
    for counts in list(_LIVING):
        counts.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
