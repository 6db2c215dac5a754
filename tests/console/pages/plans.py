"""PostgreSQL's plans of the selects of a block, as they are where no table is small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def plans(*engines: Engine, as_small: bool = False) -> Iterator[list[str]]:
    """The plan of every select that is sent meanwhile, with its own parameters.

    Sequential scans are taken only where no index serves: what is shown as one here reads the whole
    table at ten million rows.

    :param as_small: the plan that tables of their size have: a sequential scan where PostgreSQL expects it to
        find enough soon.
    """
    seen: list[str] = []

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip("( \n").startswith(("SELECT", "WITH")):
            return
        if not as_small:
            cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}", parameters)
        seen.append("\n".join(row[0] for row in cursor.fetchall()))
        cursor.execute("RESET enable_seqscan")

    for engine in engines:
        event.listen(engine, "before_cursor_execute", explain)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", explain)
