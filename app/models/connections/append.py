"""Rows appended to tables: on PostgreSQL by COPY, in the transaction of the statements around it.

A row by COPY costs a fraction of what an INSERT of its own costs, here and at the server
(docs/decisions/0034-many-rows-at-once.md). Errors, lost connections and listeners to statements are Core's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Engine, Executable, event, insert

from app.cooperation import in_turns
from app.extensions import Base
from app.models.connections.columns import bound_rows, column_names, type_names
from app.models.connections.copying import Work, WorkingWriter, nothing

ROWS_AT_ONCE: Final = 100

_ROWS: Final = "gateway_rows"
_TYPES: Final = "gateway_types"
_MEANWHILE: Final = "gateway_meanwhile"


def append(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]], meanwhile: Work = nothing
) -> None:
    """Insert rows whose keys are new.

    :param rows: all with the same columns, none of which holds JSON.
    :param meanwhile: called once, while PostgreSQL writes the rows: work that needs no connection.
    :raises IntegrityError: a key is taken.
    """
    if not rows or connection.dialect.name != "postgresql":
        execute_many(connection, insert(model), rows)
        meanwhile()
        return
    columns = tuple(rows[0])
    options = {
        _ROWS: bound_rows(model, columns, rows),
        _TYPES: type_names(model, columns),
        _MEANWHILE: meanwhile,
    }
    connection.exec_driver_sql(_copy(model, columns), execution_options=options)


def execute_many(connection: Connection, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
    """Run a statement for each row, and let others have their turn in between.

    Core makes the values of all its rows in one piece, which takes ten milliseconds for a thousand.
    """
    for start in in_turns(range(0, len(rows), ROWS_AT_ONCE)):
        connection.execute(statement, list(rows[start : start + ROWS_AT_ONCE]))


@cache
def _copy(model: type[Base], columns: tuple[str, ...]) -> str:
    return f"COPY {model.__tablename__} ({column_names(columns)}) FROM STDIN (FORMAT BINARY)"


def run_appends(engine: Engine) -> None:
    """Have an engine to PostgreSQL run what :func:`append` asks of it."""

    @event.listens_for(engine, "do_execute")
    def _copy_rows(cursor: Any, statement: str, _parameters: Any, context: Any) -> bool:
        rows = context.execution_options.get(_ROWS)
        if rows is None:
            return False
        writer = WorkingWriter(cursor, context.execution_options[_MEANWHILE])
        with cursor.copy(statement, writer=writer) as copy:
            copy.set_types(context.execution_options[_TYPES])
            for row in in_turns(rows):
                copy.write_row(row)
        return True
