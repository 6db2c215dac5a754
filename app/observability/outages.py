"""Logs frequent messages at most once a minute for each kind, and failures with their traceback."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final

from msgspec import Struct

EVERY_SECONDS: Final = 60.0
_KINDS: Final = 256


class _Kind(Struct):
    logged_at: float
    since: int = 0


class Seldom:
    """Lets one of each kind through a minute. Thread-safe."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kinds: dict[Hashable, _Kind] = {}
        self._lock = Lock()

    def more(self, kind: Hashable) -> str | None:
        """The end of its line: how many were left out before it; None where this one is left out, too."""
        now = self._monotonic()
        with self._lock:
            known = self._kinds.get(kind)
            if known is not None and now - known.logged_at < EVERY_SECONDS:
                known.since += 1
                return None
            if len(self._kinds) >= _KINDS:
                self._kinds.clear()
            self._kinds[kind] = _Kind(now)
        return f" (and {known.since} more since the last one logged)" if known and known.since else ""


class FailureLog(Seldom):
    """Failures of one process, by their kind: what was raised, and for faults of the code also where."""

    def report(
        self,
        log: logging.Logger,
        level: int,
        text: str,
        *args: object,
        error: BaseException,
        traced: bool = True,
    ) -> None:
        """Log a failure with its traceback, unless one of its kind was logged within the last minute.

        :param text: with ``args`` the line of the log, in the form for ``logging``.
        :param traced: False where the failure is the caller's, and says nothing about this program.
        """
        more = self.more((log.name, *_kind_of(error, level)))
        if more is not None:
            log.log(level, f"{text}{more}", *args, exc_info=error if traced else None)


def _kind_of(error: BaseException, level: int) -> tuple[object, ...]:
    """The kind of a failure. An outage is one kind everywhere; a fault of the code is identified by its
    place, too.
    """
    cause = getattr(error, "orig", None)
    kind = (type(error), type(cause))
    if level < logging.ERROR:
        return kind
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    place = () if traceback is None else (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
    return (*kind, *place)


FAILURES: Final = FailureLog()
"""The failures of this process."""
