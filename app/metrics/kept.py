"""Something that is read when somebody asks, seldom enough, by one thread, and never waited for for long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.outages import FAILURES

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """What was read, and when that was begun, in monotonic seconds."""

    at: float
    value: T


class Kept(Generic[T]):
    """One thread reads at a time, however many ask and however long it takes. Thread-safe."""

    def __init__(
        self,
        what: str,
        read: Callable[[], T],
        every: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param what: is read, for the log.
        :param read: what it raises is logged, and nothing new is kept.
        :param every: the least seconds from the beginning of one reading to that of the next.
        """
        self.what = what
        self.every = every
        self._read = read
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._begun = float("-inf")
        self._idle = threading.Event()
        self._idle.set()
        self._kept: Read[T] | None = None

    def refresh(self) -> None:
        """Begin to read where its turn has come and no reading goes on."""
        with self._lock:
            now = self._monotonic()
            if not self._idle.is_set() or now - self._begun < self.every:
                return
            self._begun = now
            self._idle.clear()
        try:
            threading.Thread(target=self._read_once, name=self.what, daemon=True).start()
        except RuntimeError as error:  # no thread is to be had now: the next who asks tries again
            self._idle.set()
            FAILURES.report(_log, logging.WARNING, "%s cannot be read", self.what, error=error)

    def current(self, until: float, oldest: float) -> Read[T] | None:
        """The newest that is known, once no reading goes on or at ``until``, whichever is first.

        :param until: monotonic seconds.
        :param oldest: older than so many seconds it is not given: None, as where there is none.
        """
        self._idle.wait(max(0.0, until - self._monotonic()))
        kept = self._kept
        return kept if kept is not None and self._monotonic() - kept.at <= oldest else None

    def _read_once(self) -> None:
        try:
            self._kept = Read(self._begun, self._read())
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "%s cannot be read", self.what, error=error)
        finally:
            self._idle.set()
