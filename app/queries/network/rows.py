"""Which rows does a table of the network configuration have?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select

from app.extensions import Base
from app.models.blocked import BlockedAddress
from app.models.network import Chain


def load_rows(connection: Connection, model: type[Base]) -> list[dict[str, Any]]:
    """Every row of one network table by column name, in the order of arrival."""
    table = model.__table__
    return [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


def row_by_id(connection: Connection, model: type[Base], row_id: int) -> dict[str, Any] | None:
    """One row of a network table by column name."""
    table = model.__table__
    row = connection.execute(select(table).where(table.c.id == row_id)).mappings().one_or_none()
    return None if row is None else dict(row)


def rows_with(
    connection: Connection, model: type[Base], column: str, values: Collection[Any]
) -> list[dict[str, Any]]:
    """The rows whose column has one of the values, at most some hundreds; accounts without regard to case."""
    table = model.__table__
    is_one: ColumnElement[bool] = table.c[column].in_(values)
    if table is BlockedAddress.__table__ and column == "address":
        # EVM addresses have one spelling, which is indexed. Only the others need the slower comparison.
        others = [value.lower() for value in values if not (len(value) == 42 and value.startswith("0x"))]
        is_one = or_(is_one, func.lower(table.c[column]).in_(others)) if others else is_one
    return [dict(row) for row in connection.execute(select(table).where(is_one)).mappings()]


def chain_row_id(connection: Connection, chain_id: int) -> int | None:
    """The row number of the chain with this chain id; None where it is not configured."""
    return connection.scalar(select(Chain.id).where(Chain.chain_id == chain_id))
