"""Columns of tables as PostgreSQL's driver takes their values, for statements about many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import JSON
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeDecorator

from app.extensions import Base

_POSTGRESQL: Final = postgresql.dialect()  # type: ignore[no-untyped-call]


def bound_rows(
    model: type[Base], columns: tuple[str, ...], rows: Sequence[dict[str, Any]]
) -> list[tuple[Any, ...]]:
    """The columns' values of each row, checked and converted as the columns' types say.

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
    """The columns as a statement lists them."""
    return ", ".join(map(_POSTGRESQL.identifier_preparer.quote, columns))


@cache
def holds_json(model: type[Base]) -> bool:
    """Whether a column of the table is JSON."""
    return any(
        isinstance(column.type.dialect_impl(_POSTGRESQL), JSON)
        or isinstance(getattr(column.type, "impl", None), JSON)
        for column in model.__table__.columns
    )
