"""Entries of the log that are written some at a time: one by one each takes several times as long."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

Entry = TypeVar("Entry")

MOST: Final = 64
"""Entries that wait at most: writing them keeps a processor busy for less than a millisecond."""

TOGETHER: Final = 8
"""Entries in one piece. None has 512 bytes, and a pipe keeps 4,096 together, whoever else writes into it."""

SECONDS: Final = 0.1
"""How long an entry waits at most. A process that is killed loses those that wait."""


class Batch(Generic[Entry]):
    """Keeps entries until they are written, in their order. Thread-safe.

    What writes them later is a thread that starts with the first entry of a process, because a server forks
    after loading, and threads do not survive a fork. The end of a process writes what is left.
    """

    def __init__(self, write: Callable[[Sequence[Entry]], None]) -> None:
        """
        :param write: takes a piece of at most ``TOGETHER``; called from any thread, and within any request.
        """
        self._write = write
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)
        atexit.register(self.flush)

    def _begin_anew(self) -> None:
        """Start without entries: those of a parent process are its own, as are its thread and locks."""
        self._waiting: deque[Entry] = deque()
        self._due = 0.0  # when what waits is to be written, by the monotonic clock
        self._some = threading.Event()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, entry: Entry) -> None:
        """Have an entry written soon."""
        self._waiting.append(entry)
        if len(self._waiting) >= MOST:
            self.flush()
        elif not self._some.is_set():
            self._due = time.monotonic() + SECONDS
            self._start_once()
            self._some.set()

    def flush(self) -> None:
        """Write what waits."""
        with self._writing:
            self._due = time.monotonic() + SECONDS  # who comes from now on may wait as long
            while self._waiting:
                several = min(TOGETHER, len(self._waiting))
                self._write([self._waiting.popleft() for _ in range(several)])

    def _start_once(self) -> None:
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._flush_later, name="log", daemon=True)
                    self._thread.start()

    def _flush_later(self) -> None:
        while self._some.wait():
            # Under load requests write what waits long before: each turn of this thread costs them more.
            while (left := self._due - time.monotonic()) > 0:
                time.sleep(left)
            self._some.clear()  # before the look: who comes now is seen, or asks again
            self.flush()
