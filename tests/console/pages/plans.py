"""PostgreSQL's plans of what is asked in a block, as they are where no table is small."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import sql
from sqlalchemy import Engine, event


@contextmanager
def plans(*engines: Engine) -> Iterator[list[str]]:
    """The plan of every select that is sent meanwhile, with its own parameters.

    Sequential scans are taken only where no index serves: what is shown as one here reads the whole
    table at ten million rows.
    """
    seen: list[str] = []

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip("( \n").startswith(("SELECT", "WITH")):
            return
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}", parameters)
        seen.append("\n".join(row[0] for row in cursor.fetchall()))
        cursor.execute("RESET enable_seqscan")

    with _before_each_statement(engines, explain):
        yield seen


@contextmanager
def rows_read(*engines: Engine) -> Iterator[list[int]]:
    """How many rows each select reads from tables, by its connection's own kind of plan."""
    seen: list[int] = []

    def count(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip("( \n").startswith("SELECT"):
            return
        names: list[str] = []

        def number(found: re.Match[str]) -> str:
            names.append(found[1])
            return f"${len(names)}"

        numbered = re.sub(r"%\((\w+)\)s", number, statement).replace("%%", "%")
        values = [sql.Literal(parameters[name]) for name in names]
        given = sql.SQL("({})").format(sql.SQL(", ").join(values)) if values else sql.SQL("")
        cursor.execute(f"PREPARE counted AS {numbered}")
        cursor.execute(sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE counted") + given)
        seen.append(_scanned(cursor.fetchone()[0][0]["Plan"]))
        cursor.execute("DEALLOCATE counted")

    with _before_each_statement(engines, count):
        yield seen


@contextmanager
def _before_each_statement(engines: Sequence[Engine], look: Callable[..., None]) -> Iterator[None]:
    for engine in engines:
        event.listen(engine, "before_cursor_execute", look)
    try:
        yield
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", look)


def _scanned(node: dict[str, Any]) -> int:
    """The rows that a part of a plan reads from tables."""
    own = 0
    if "Relation Name" in node:
        own = round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
    return own + sum(map(_scanned, node.get("Plans", ())))
