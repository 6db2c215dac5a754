"""Write rows whether or not they are there, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import orjson
from sqlalchemy import Connection, Row
from sqlalchemy.dialects import postgresql, sqlite

from app.extensions import Base
from app.models.connections.append import execute_many
from app.models.connections.columns import bound_rows, column_names, holds_json, type_names


def add_up(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, add every other given column to what is there.

    :param rows: each with a key of its own.
    """
    if not rows:
        return
    if _at_once(connection, model):
        _write_at_once(connection, model, rows, adding=True)
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
        _write_at_once(connection, model, rows, adding=False)
        return
    _, statement, keys = _insert(connection, model)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    execute_many(connection, statement.on_conflict_do_update(index_elements=keys, set_=changed), rows)


def lock_or_insert(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Insert rows, except where the primary key is taken: there everything stays as it is.

    All columns of all of them as they are now, in no order. Nobody else changes or deletes them before this
    transaction ends.

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
    """Whether one statement takes all rows as one document; a column of JSON would be a document in it."""
    return connection.dialect.name == "postgresql" and not holds_json(model)


def _write_at_once(
    connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]], *, adding: bool
) -> None:
    columns = tuple(rows[0])
    bound = bound_rows(model, columns, rows)
    document = orjson.dumps([dict(zip(columns, row, strict=True)) for row in bound], default=_as_json)
    connection.exec_driver_sql(_of_document(model, columns, adding), {"rows": document.decode()})


def _as_json(value: Any) -> str:
    """What JSON has no kind for, as PostgreSQL reads it from a text."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{type(value).__name__} has no place in a document of rows")


@cache
def _of_document(model: type[Base], columns: tuple[str, ...], adding: bool) -> str:
    table, keys = model.__tablename__, _keys(model)
    names = column_names(columns)
    kinds = zip(columns, type_names(model, columns), strict=True)
    given = ", ".join(f"{column_names([name])} {kind}" for name, kind in kinds)
    quoted = [column_names([name]) for name in columns if name not in keys]
    plus = [f"{table}.{name} + " if adding else "" for name in quoted]
    changed = ", ".join(
        f"{name} = {before}excluded.{name}" for name, before in zip(quoted, plus, strict=True)
    )
    return (  # nothing but names of the models' own tables and columns
        f"INSERT INTO {table} ({names}) SELECT {names}"  # noqa: S608
        f" FROM json_to_recordset(%(rows)s::json) AS given ({given})"
        f" ON CONFLICT ({column_names(keys)}) DO UPDATE SET {changed}"
    )
