"""Writes many rows at once on both databases: appended, or inserted and updated.

On PostgreSQL many rows are appended by COPY, in the transaction of the statements around it. That costs a
fraction of an INSERT for each row, here and at the server. Few rows, and those that may be there, go as one
JSON document: COPY takes two more round trips, and arrays take the driver ten times as long to write. Such
documents wait in the transaction for each other (:class:`Pending`). Errors, lost connections and listeners to
statements are Core's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, Literal

import orjson
from msgspec import Struct, field
from sqlalchemy import JSON, Connection, Engine, Executable, Row, bindparam, delete, event, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator

from app.cooperation import in_turns
from app.db.direct import FAILED
from app.db.models import Base

_POSTGRESQL: Final = postgresql.dialect()  # type: ignore[no-untyped-call]

OnConflict = Literal["add", "set"] | None
"""What is done with the row that has the key already; None: it is an error."""


def bound_rows(
    model: type[Base], columns: tuple[str, ...], rows: Sequence[dict[str, Any]]
) -> list[tuple[Any, ...]]:
    """The columns' values of each row, checked and converted by the columns' types.

    :param rows: at least one, all with these columns.
    :raises ValueError: a value is out of the range of its column.
    :raises TypeError: a value is of another kind.
    """
    by_column: list[Any] = [[row[name] for row in rows] for name in columns]
    for index, kind in _decorated(model, columns):
        bind = kind.process_bind_param
        by_column[index] = [bind(value, _POSTGRESQL) for value in by_column[index]]
    return list(zip(*by_column, strict=True))


@cache
def _decorated(model: type[Base], columns: tuple[str, ...]) -> list[tuple[int, TypeDecorator[Any]]]:
    kinds = enumerate(model.__table__.c[name].type for name in columns)
    return [(index, kind) for index, kind in kinds if isinstance(kind, TypeDecorator)]


@cache
def type_names(model: type[Base], columns: tuple[str, ...]) -> tuple[str, ...]:
    """PostgreSQL's names of the columns' types, without lengths: the table refuses what is too long."""
    kinds = (model.__table__.c[name].type for name in columns)
    return tuple(kind.compile(dialect=_POSTGRESQL).partition("(")[0].lower() for kind in kinds)


def column_names(columns: Sequence[str]) -> str:
    """The columns in the form of a statement's list."""
    return ", ".join(map(_POSTGRESQL.identifier_preparer.quote, columns))


@cache
def holds_json(model: type[Base]) -> bool:
    """Whether a column of the table is JSON."""
    return any(
        isinstance(column.type.dialect_impl(_POSTGRESQL), JSON)
        or isinstance(getattr(column.type, "impl", None), JSON)
        for column in model.__table__.columns
    )


ROWS_AT_ONCE: Final = 100

FEW: Final = 50
"""Rows that are appended by one statement sooner than by COPY."""

_ROWS: Final = "gateway_rows"
_TYPES: Final = "gateway_types"


def append(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows whose keys are new.

    :param rows: all with the same columns, none of which holds JSON.
    :raises IntegrityError: a key is taken.
    """
    if not rows or connection.dialect.name != "postgresql":
        execute_many(connection, insert(model), rows)
        return
    if len(rows) <= FEW:
        _write_at_once(connection, model, rows, on_conflict=None)
        return
    columns = tuple(rows[0])
    options = {_ROWS: bound_rows(model, columns, rows), _TYPES: type_names(model, columns)}
    connection.exec_driver_sql(_copy(model, columns), execution_options=options)


def delete_rows(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Delete the rows with these values, which are of the same columns and name each row.

    :param rows: at least one.
    """
    columns = tuple(rows[0])
    if connection.dialect.name != "postgresql":
        of_row = (model.__table__.c[name] == bindparam(f"old_{name}") for name in columns)
        old = [{f"old_{name}": value for name, value in row.items()} for row in rows]
        execute_many(connection, delete(model).where(*of_row), old)
        return
    connection.exec_driver_sql(_deletion(model, columns), {"rows": _document(model, columns, rows)})


@cache
def _deletion(model: type[Base], columns: tuple[str, ...]) -> str:
    names = [column_names([name]) for name in columns]
    of_row = " AND ".join(f"{model.__tablename__}.{name} = given.{name}" for name in names)
    # Only names of the models' own tables and columns.
    return f"DELETE FROM {model.__tablename__} USING {_given(model, columns)} WHERE {of_row}"  # noqa: S608


def execute_many(connection: Connection, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
    """Run a statement for each row, and let others run in between.

    Core makes the values of all its rows at once, which takes ten milliseconds for a thousand.
    """
    for start in in_turns(range(0, len(rows), ROWS_AT_ONCE)):
        connection.execute(statement, list(rows[start : start + ROWS_AT_ONCE]))


@cache
def _copy(model: type[Base], columns: tuple[str, ...]) -> str:
    return f"COPY {model.__tablename__} ({column_names(columns)}) FROM STDIN (FORMAT BINARY)"


PENDING: Final = "gateway_pending"
"""Execution option of a connection whose transaction sends its writes together."""


class Pending(Struct):
    """The writes of a transaction that were not sent yet, in their order, each with its rows, by table.

    They are sent as one statement: before another one that could see them or is no read, and before the
    commit. An error of a write is raised there, and undoes the transaction as it would have before.
    """

    writes: dict[str, tuple[str, str]] = field(default_factory=dict)

    def concerns(self, statement: str) -> bool:
        """Whether a statement has to wait for these writes."""
        if not self.writes:
            return False
        return not statement.startswith("SELECT") or not _words(statement).isdisjoint(self.writes)


@lru_cache(maxsize=1_000)
def _words(statement: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", statement))


def send_pending(connection: Connection) -> None:
    """Send the writes that wait, where there are any.

    :raises DBAPIError: one of them fails.
    """
    pending = connection.get_execution_options().get(PENDING)
    if pending is None or not pending.writes:
        return
    writes, pending.writes = list(pending.writes.values()), {}
    rows = {f"rows{number}": document for number, (_, document) in enumerate(writes)}
    connection.exec_driver_sql(_as_one(tuple(statement for statement, _ in writes)), rows)


@lru_cache(maxsize=1_000)
def _as_one(statements: tuple[str, ...]) -> str:
    *first, last = (each.replace("%(rows)s", f"%(rows{number})s") for number, each in enumerate(statements))
    parts = ", ".join(f"write{number} AS ({each})" for number, each in enumerate(first))
    return f"WITH {parts} {last}" if parts else last


def run_writes(engine: Engine) -> None:
    """Make an engine to PostgreSQL run the requests of :func:`append`, and send what waits in time."""

    @event.listens_for(engine, "before_cursor_execute")
    def _send_what_it_needs(connection: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        pending = connection.get_execution_options().get(PENDING)
        if pending is not None and pending.concerns(statement):
            send_pending(connection)

    @event.listens_for(engine, "do_execute")
    def _run(cursor: Any, statement: str, _parameters: Any, context: Any) -> bool:
        options = context.execution_options
        if (error := options.get(FAILED)) is not None:
            raise error
        if (rows := options.get(_ROWS)) is None:
            return False
        with cursor.copy(statement) as copy:
            copy.set_types(options[_TYPES])
            for row in in_turns(rows):
                copy.write_row(row)
        return True


def add_up(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, add every other given column to the stored values.

    :param rows: each with a key of its own.
    """
    if not rows:
        return
    if _at_once(connection, model):
        _write_at_once(connection, model, rows, on_conflict="add")
        return
    table, statement, keys = _insert(connection, model)
    sums = {name: table.c[name] + statement.excluded[name] for name in rows[0] if name not in keys}
    execute_many(connection, statement.on_conflict_do_update(index_elements=keys, set_=sums), rows)


def upsert(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, set every other given column.

    :param rows: each with a key of its own.
    """
    if not rows:
        return
    if _at_once(connection, model):
        _write_at_once(connection, model, rows, on_conflict="set")
        return
    _, statement, keys = _insert(connection, model)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    execute_many(connection, statement.on_conflict_do_update(index_elements=keys, set_=changed), rows)


def lock_or_insert(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Insert rows, except where the primary key is taken: those rows stay unchanged.

    Returns all columns of all these rows, in no order. They stay locked until this transaction ends.

    :param rows: in the order of their keys, so that two transactions wait for each other in one order.
    """
    table, statement, keys = _insert(connection, model)
    same = {name: table.c[name] for name in rows[0] if name not in keys}
    locked = statement.values(list(rows)).on_conflict_do_update(index_elements=keys, set_=same)
    return connection.execute(locked.returning(*table.c)).all()


def _insert(connection: Connection, model: type[Base]) -> tuple[Any, Any, list[str]]:
    table = model.__table__
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert
    return table, insert(table), _keys(model)


def _keys(model: type[Base]) -> list[str]:
    return [column.name for column in model.__table__.primary_key]


def _at_once(connection: Connection, model: type[Base]) -> bool:
    """Whether one statement takes all rows as one document. JSON would be a document within it."""
    return connection.dialect.name == "postgresql" and not holds_json(model)


def _write_at_once(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]], *, on_conflict: OnConflict
) -> None:
    columns = tuple(rows[0])
    statement, document = _of_document(model, columns, on_conflict), _document(model, columns, rows)
    pending = connection.get_execution_options().get(PENDING)
    if pending is None:
        connection.exec_driver_sql(statement, {"rows": document})
        return
    if model.__tablename__ in pending.writes:  # a statement does not see what another part of it writes
        send_pending(connection)
    pending.writes[model.__tablename__] = statement, document


def _document(model: type[Base], columns: tuple[str, ...], rows: Sequence[dict[str, Any]]) -> str:
    bound = bound_rows(model, columns, rows)
    return orjson.dumps([dict(zip(columns, row, strict=True)) for row in bound], default=_as_json).decode()


def _given(model: type[Base], columns: tuple[str, ...]) -> str:
    """The parameter ``rows`` as a table."""
    kinds = zip(columns, type_names(model, columns), strict=True)
    given = ", ".join(f"{column_names([name])} {kind}" for name, kind in kinds)
    return f"json_to_recordset(%(rows)s::json) AS given ({given})"


def _as_json(value: Any) -> str:
    """A value that JSON has no kind for, as a text that PostgreSQL reads."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{type(value).__name__} has no place in a document of rows")


@cache
def _of_document(model: type[Base], columns: tuple[str, ...], on_conflict: OnConflict) -> str:
    table, keys = model.__tablename__, _keys(model)
    names = column_names(columns)
    quoted = [column_names([name]) for name in columns if name not in keys]
    plus = [f"{table}.{name} + " if on_conflict == "add" else "" for name in quoted]
    changed = ", ".join(
        f"{name} = {before}excluded.{name}" for name, before in zip(quoted, plus, strict=True)
    )
    insert = (  # only names of the models' own tables and columns
        f"INSERT INTO {table} ({names}) SELECT {names}"  # noqa: S608
        f" FROM {_given(model, columns)}"
    )
    if on_conflict is None:
        return insert
    return f"{insert} ON CONFLICT ({column_names(keys)}) DO UPDATE SET {changed}"
