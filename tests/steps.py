"""How much work something is: counted in calls of functions or in statements, so that no clock decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event as sql_event

from app.db.database import Database


def steps(work: Callable[[], object]) -> int:
    """How many functions are called meanwhile in this thread."""
    called = 0

    def note(_frame: object, what: str, _argument: object) -> None:
        nonlocal called
        called += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return called


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The statements that are executed in the block."""
    executed: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        executed.append(statement)

    sql_event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield executed
    finally:
        sql_event.remove(database.engine, "before_cursor_execute", note)
