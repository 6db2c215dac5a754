"""How much work something is: counted in calls of functions or in statements, so that no clock decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from sqlalchemy import Engine
from sqlalchemy import event as sql_event


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
def statements(engine: Engine) -> Iterator[list[str]]:
    """The statements that this thread executes in the block. Others of the process read the journal."""
    executed: list[str] = []
    thread = get_ident()

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if get_ident() == thread:
            executed.append(statement)

    sql_event.listen(engine, "before_cursor_execute", note)
    try:
        yield executed
    finally:
        sql_event.remove(engine, "before_cursor_execute", note)
