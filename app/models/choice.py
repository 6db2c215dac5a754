"""Asking for rows whose column has one of many values, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Dialect, LargeBinary, any_, bindparam
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.types import TypeDecorator, TypeEngine

from app.models.types import Hash32

K = TypeVar("K")


class _Hashes(TypeDecorator[list[bytes]]):
    """Hashes as PostgreSQL writes an array of them: the driver takes ten times as long."""

    impl = postgresql.ARRAY(LargeBinary)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[list[bytes]], str]:  # type: ignore[override]
        return _as_written


def _as_written(hashes: list[bytes]) -> str:
    return "{" + ",".join([f'"\\\\x{each.hex()}"' for each in hashes]) + "}"


_HASHES: Final = _Hashes()


def is_one_of(
    connection: Connection, column: InstrumentedAttribute[K], values: Collection[Any]
) -> ColumnElement[bool]:
    """Whether a column has one of some values, as many as a statement takes.

    PostgreSQL gets them as one array: so the statement is the same however many there are, and is neither
    written anew nor planned again.
    """
    if connection.dialect.name != "postgresql":
        return column.in_(list(values))
    hashes = isinstance(column.type, Hash32)
    kind: TypeEngine[Any] = _HASHES if hashes else postgresql.ARRAY(column.type)
    return column == any_(bindparam(None, list(values), type_=kind, unique=True))
