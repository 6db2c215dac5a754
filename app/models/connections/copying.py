"""A COPY during which work is done: PostgreSQL writes rows of the binary format a thousand at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psycopg import Cursor
from psycopg.abc import PQGen
from psycopg.copy import LibpqWriter
from psycopg.generators import copy_end
from psycopg.pq.abc import PGresult
from psycopg.waiting import WAIT_W

Work = Callable[[], None]


def nothing() -> None:
    """No work."""


class WorkingWriter(LibpqWriter):
    """Does some work between a COPY's last row and the server's answer."""

    def __init__(self, cursor: Cursor[Any], work: Work) -> None:
        super().__init__(cursor)
        self._work = work

    def finish(self, exc: BaseException | None = None) -> None:
        """End the COPY, do the work, and see what became of the rows."""
        if exc is not None:
            super().finish(exc)
            return
        self.cursor._results = [self.connection.wait(self._worked_within(copy_end(self._pgconn, None)))]

    def _worked_within(self, ending: PQGen[PGresult]) -> PQGen[PGresult]:
        fault: Exception | None = None
        wait = next(ending)
        while wait == WAIT_W:  # until all is sent
            wait = ending.send((yield wait))
        try:
            self._work()
        except Exception as raised:  # the connection is of no use before the answer is read
            fault = raised
        try:
            while True:
                wait = ending.send((yield wait))
        except StopIteration as answered:
            if fault is not None:
                raise fault from None
            result: PGresult = answered.value
            return result
