"""The pool of database connections: who waits longest is served first."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from app.deadlines import Waiting


class Tickets:
    """A bounded number of tickets, handed from the one who is done to the one who waits longest.

    A condition variable, as SQLAlchemy's own pool has it, lets a newcomer take what was freed for somebody
    who waits. With many more askers than connections some then wait a hundred times as long as others.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = Lock()
        self._waiting: deque[Lock] = deque()
        self.refused = 0
        """How many waited in vain, ever."""

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return len(self._waiting)

    def take(self, seconds: float) -> bool:
        """Take a ticket; False where none was given back in time."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        if turn.acquire(timeout=seconds):
            return True
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                self.refused += 1
                return False
        return True  # it was handed over at the last moment

    def give_back(self) -> None:
        """Hand the ticket to the next."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


class FairPool(QueuePool):
    """A pool in which connections are handed out in the order in which they were asked for."""

    _sqla_logger_namespace = "sqlalchemy.pool.FairPool"  # logged, and kept quiet, like SQLAlchemy's own

    def __init__(self, creator: Any, *, max_overflow: int = 10, **kwargs: Any) -> None:
        super().__init__(creator, max_overflow=max_overflow, **kwargs)
        self.tickets = Tickets(self.size() + max(0, max_overflow))

    def _do_get(self) -> ConnectionPoolEntry:
        with Waiting(self.timeout()) as seconds:
            if not seconds or not self.tickets.take(seconds):
                raise PoolTimeout(f"no connection was free within {seconds or 0:g} s")
        try:
            return super()._do_get()
        except BaseException:
            self.tickets.give_back()
            raise

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        try:
            super()._do_return_conn(record)
        finally:
            self.tickets.give_back()
