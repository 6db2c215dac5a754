"""Write rows whether or not they are there, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.dialects import postgresql, sqlite

from app.extensions import Base


def add_up(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, add every other given column to what is there."""
    if not rows:
        return
    table, statement, keys = _insert(connection, model)
    sums = {name: table.c[name] + statement.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=sums), list(rows))


def upsert(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows or, where the primary key is taken, set every other given column."""
    if not rows:
        return
    _, statement, keys = _insert(connection, model)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), list(rows))


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
    return table, insert(table), [column.name for column in table.primary_key]
