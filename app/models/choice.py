"""Asking for rows whose column has one of many values, on both databases."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, any_, bindparam
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.types import TypeEngine

K = TypeVar("K")


def is_one_of(
    connection: Connection, column: InstrumentedAttribute[K], values: Collection[Any]
) -> ColumnElement[bool]:
    """Whether a column has one of some values, as many as a statement takes.

    PostgreSQL gets them as one array: so the statement is the same however many there are, and is neither
    written anew nor planned again.
    """
    if connection.dialect.name != "postgresql":
        return column.in_(list(values))
    kind: TypeEngine[Any] = postgresql.ARRAY(column.type)
    return column == any_(bindparam(None, list(values), type_=kind, unique=True))
