"""Writes many rows with one statement: inserted, inserted or updated, deleted.

To PostgreSQL the rows of a statement go as one parameter, a JSON document: bound one by one, the values of a
batch of events take twice as long. ``COPY`` needs private names of libraries. SQLite takes them one by one.

What rows leave out gets the database's default, not one of Python's. In a JSON column None is NULL, and there
are only values that orjson writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final, Literal

import orjson
from sqlalchemy import (
    JSON,
    ColumnClause,
    Connection,
    Executable,
    FromClause,
    Row,
    Text,
    bindparam,
    cast,
    column,
    delete,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator

from app.cooperation import in_turns
from app.db.models import Base

_POSTGRESQL: Final = postgresql.dialect()  # type: ignore[no-untyped-call]

ROWS_AT_ONCE: Final = 250
"""Of one statement. Making a larger document would let other requests wait."""

OnConflict = Literal["error", "add", "set"]
"""What is done with the row that has the key already."""


def append(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows whose keys are new.

    :param rows: all with the same columns.
    :raises IntegrityError: a key is taken.
    """
    _write(connection, model, rows, "error")


def upsert(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, set every other given column.

    :param rows: all with the same columns, each with a key of its own.
    """
    _write(connection, model, rows, "set")


def add_up(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, add every other given column to the stored values.

    :param rows: all with the same columns, each with a key of its own.
    """
    _write(connection, model, rows, "add")


def delete_rows(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Delete the rows with these values, which name each row.

    :param rows: at least one, all with the same columns.
    """
    columns = tuple(rows[0])
    if connection.dialect.name == "postgresql":
        _execute(connection, _deletion(model, columns), _documents(model, columns, rows))
        return
    of_row = (model.__table__.c[name] == bindparam(f"old_{name}") for name in columns)
    old = [{f"old_{name}": value for name, value in row.items()} for row in rows]
    _execute(connection, delete(model).where(*of_row), _parts(old))


def lock_or_insert(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Insert rows, except where the primary key is taken: those rows stay unchanged.

    Returns all columns of all these rows, in no order. They stay locked until this transaction ends.

    :param rows: in the order of their keys, so that two transactions wait for each other in one order.
    """
    table, keys = model.__table__, _keys(model)
    same = {name: table.c[name] for name in rows[0] if name not in keys}
    locked = _insert(connection, model).values(list(rows))
    locked = locked.on_conflict_do_update(index_elements=keys, set_=same)
    return connection.execute(locked.returning(*table.c)).all()


def _write(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]], on_conflict: OnConflict
) -> None:
    if not rows:
        return
    columns = tuple(rows[0])
    if connection.dialect.name == "postgresql":
        statement = _of_document(model, columns, on_conflict)
        _execute(connection, statement, _documents(model, columns, rows))
    else:
        statement = _or_update(_insert(connection, model), model, columns, on_conflict)
        _execute(connection, statement, _parts(rows))


def _execute(connection: Connection, statement: Executable, parameters: Iterator[Any]) -> None:
    for some in in_turns(parameters):
        connection.execute(statement, some)


def _parts(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield list(rows[start : start + ROWS_AT_ONCE])


def _documents(
    model: type[Base], columns: tuple[str, ...], rows: Sequence[dict[str, Any]]
) -> Iterator[dict[str, str]]:
    for part in _parts(rows):
        bound = bound_rows(model, columns, part)
        document = [dict(zip(columns, row, strict=True)) for row in bound]
        yield {"rows": orjson.dumps(document, default=_as_json).decode()}


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


def _as_json(value: Any) -> str:
    """A value that JSON has no kind for, as a text that PostgreSQL reads."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{type(value).__name__} has no place in a document of rows")


def _given(model: type[Base], columns: tuple[str, ...]) -> FromClause:
    """The document in the parameter ``rows`` as a table."""
    named: list[ColumnClause[Any]] = [column(name, model.__table__.c[name].type) for name in columns]
    document = cast(bindparam("rows", type_=Text), JSON)
    return func.json_to_recordset(document).table_valued(*named, name="given").render_derived(with_types=True)


@cache
def _of_document(model: type[Base], columns: tuple[str, ...], on_conflict: OnConflict) -> Any:
    rows = select(*_given(model, columns).c)
    return _or_update(
        postgresql.insert(model).from_select(columns, rows, include_defaults=False),
        model,
        columns,
        on_conflict,
    )


@cache
def _deletion(model: type[Base], columns: tuple[str, ...]) -> Executable:
    given = _given(model, columns)
    return delete(model).where(*(model.__table__.c[name] == given.c[name] for name in columns))


def _insert(connection: Connection, model: type[Base]) -> Any:
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(model.__table__)


def _or_update(statement: Any, model: type[Base], columns: Sequence[str], on_conflict: OnConflict) -> Any:
    if on_conflict == "error":
        return statement
    stored, new, keys = model.__table__.c, statement.excluded, _keys(model)
    others = [name for name in columns if name not in keys]
    values = {name: stored[name] + new[name] if on_conflict == "add" else new[name] for name in others}
    return statement.on_conflict_do_update(index_elements=keys, set_=values)


def _keys(model: type[Base]) -> list[str]:
    return [each.name for each in model.__table__.primary_key]
