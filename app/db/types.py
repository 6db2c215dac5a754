"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, TypeVar, cast

from sqlalchemy import (
    JSON,
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Integer,
    LargeBinary,
    Numeric,
    Select,
    String,
    Text,
    any_,
    bindparam,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.sql.visitors import replacement_traverse
from sqlalchemy.types import TypeDecorator, TypeEngine

from app.values.amounts import is_uint256
from app.values.identifiers import MAX_UINT64

ACCOUNT_LENGTH = 128

_MAX_INT64 = 2**63 - 1

# SQLite gives ids only to INTEGER primary keys; PostgreSQL needs 64 bits spelled out.
BigId = BigInteger().with_variant(Integer, "sqlite")


class ExactInteger(TypeDecorator[int]):
    """An integer of any size and sign, exact: NUMERIC on PostgreSQL, text on SQLite.

    SQLite's own NUMERIC turns what is over 64 bits into a float. Its text does not sort
    as a number: order and sum it in Python or through :class:`exact_sum`.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Numeric() if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"an exact integer column takes int, not {type(value).__name__}")
        return Decimal(value) if dialect.name == "postgresql" else str(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        return None if value is None else int(value)


class Uint256(ExactInteger):
    """An amount in smallest units, 0 to 2^256-1."""

    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        if value is not None and not is_uint256(value):
            raise ValueError("an amount is 0 to 2^256-1")
        return super().process_bind_param(value, dialect)


class Uint64(TypeDecorator[int]):
    """A chain id as in contracts, 0 to 2^64-1, in a signed column of 64 bits.

    Numbers from 2^63 on are stored as their two's complement: equality holds, their order does not. NUMERIC
    or text would make every key longer, for numbers that no honest send has.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        if value is None or 0 <= value <= _MAX_INT64:
            return value
        if not 0 <= value <= MAX_UINT64:
            raise ValueError("a chain id is 0 to 2^64-1")
        return value - MAX_UINT64 - 1

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:
        return value + MAX_UINT64 + 1 if value is not None and value < 0 else value


class ChainIds(TypeDecorator[frozenset[int]]):
    """A set of chain ids, as text: ``1,56``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[int] | None, dialect: Dialect) -> str | None:
        return None if value is None else ",".join(map(str, sorted(value)))

    def process_result_value(self, value: str | None, dialect: Dialect) -> frozenset[int] | None:
        return None if value is None else frozenset(map(int, filter(None, value.split(","))))


class Accounts(TypeDecorator[frozenset[str]]):
    """A set of accounts, as the text of a JSON list. Rows with it are appended as any others."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(sorted(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> frozenset[str] | None:
        return None if value is None else frozenset(json.loads(value))


class exact_sum(GenericFunction[int]):  # noqa: N801  named as it is called in a query
    """The exact sum of an :class:`ExactInteger` column; NULL over no rows."""

    type = ExactInteger()
    inherit_cache = True


@compiles(exact_sum)
def _native_sum(element: exact_sum, compiler: SQLCompiler, **kw: Any) -> str:
    return f"sum({compiler.process(element.clauses, **kw)})"


@compiles(exact_sum, "sqlite")
def _sqlite_sum(element: exact_sum, compiler: SQLCompiler, **kw: Any) -> str:
    return f"exact_sum({compiler.process(element.clauses, **kw)})"


class SqliteExactSum:
    """Aggregate behind ``exact_sum`` on SQLite, registered on every connection."""

    def __init__(self) -> None:
        self.total: int | None = None

    def step(self, value: str | None) -> None:
        if value is not None:
            self.total = (self.total or 0) + int(value)

    def finalize(self) -> str | None:
        return None if self.total is None else str(self.total)


class _InOrder(Uint256):
    """What :func:`exact_order` gives: on SQLite two digits for the length of the number, and the number."""

    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        stored = super().process_bind_param(value, dialect)
        return stored if stored is None or dialect.name == "postgresql" else f"{len(stored):02}{stored}"

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        return None if value is None else int(value if dialect.name == "postgresql" else value[2:])


class exact_order(GenericFunction[int]):  # noqa: N801  named as it is called in a query
    """An :class:`Uint256` column as it sorts, and is compared, by number. NULL stays NULL."""

    type = _InOrder()
    inherit_cache = True


@compiles(exact_order)
def _native_order(element: exact_order, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.clauses.clauses[0], **kw)


EXACT_ORDER: Final = "substr('0' || length({0}), -2) || {0}"
"""The same on SQLite. An index only serves a query with exactly this text."""


@compiles(exact_order, "sqlite")
def _sqlite_order(element: exact_order, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({EXACT_ORDER.format(compiler.process(element.clauses.clauses[0], **kw))})"


class Hash32(TypeDecorator[bytes]):
    """32 bytes: a transfer id."""

    impl = LargeBinary(32)
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        if value is not None and len(value) != 32:
            raise ValueError("a hash has 32 bytes")
        return value

    def process_result_value(self, value: Any, dialect: Dialect) -> bytes | None:
        return None if value is None else bytes(value)


class Address(String):
    """An account or contract: an EVM address with its checksum, or any other chain's text."""

    def __init__(self) -> None:
        super().__init__(ACCOUNT_LENGTH)


class UtcTime(TypeDecorator[datetime]):
    """An aware time in UTC, to the microsecond; sorts in time order on both databases."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time needs an offset")
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class FeeTiers(TypeDecorator[tuple[tuple[int, int], ...]]):
    """Protocol fee tiers as ``((from, ppm), …)``, ``from`` in source units, ascending from 0.

    Stored as JSON ``[["0", 400], …]``: JSON numbers of many readers end at 53 bits.
    """

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: tuple[tuple[int, int], ...] | None, dialect: Dialect) -> Any:
        return None if value is None else [[str(start), ppm] for start, ppm in value]

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[tuple[int, int], ...] | None:
        return None if value is None else tuple((int(start), int(ppm)) for start, ppm in value)


K = TypeVar("K")
Q = TypeVar("Q", bound=Select[Any])


class _Hashes(TypeDecorator[list[bytes]]):
    """Hashes in PostgreSQL's text form of an array: the driver takes ten times as long."""

    impl = postgresql.ARRAY(LargeBinary)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[list[bytes]], str]:  # type: ignore[override]
        return _as_written


def _as_written(hashes: list[bytes]) -> str:
    return "{" + ",".join([f'"\\\\x{each.hex()}"' for each in hashes]) + "}"


_HASHES: Final = _Hashes()


MOST_IN_STATEMENT: Final = 10_000
"""Values in one statement: SQLite allows 32,766, PostgreSQL 65,535."""


def is_one_of(
    connection: Connection, column: InstrumentedAttribute[K], values: Collection[Any]
) -> ColumnElement[bool]:
    """Whether a column has one of some values, as many as a statement takes.

    PostgreSQL gets them as one array: so the statement is the same for any number of them, and is neither
    compiled nor planned again.
    """
    if connection.dialect.name != "postgresql":
        return column.in_(list(values))
    return column == any_(bindparam(None, list(values), type_=_array_of(column), unique=True))


def is_in_array(column: InstrumentedAttribute[Any], name: str) -> ColumnElement[bool]:
    """Whether a column has one of the values of a parameter, which is an array of PostgreSQL."""
    return column == any_(bindparam(name, type_=_array_of(column)))


def _array_of(column: InstrumentedAttribute[Any]) -> TypeEngine[Any]:
    return _HASHES if isinstance(column.type, Hash32) else postgresql.ARRAY(column.type)


class RowsOf:
    """A select of the rows whose columns have one of some values, built once for each kind of database.

    PostgreSQL gets the values of a column as one array, as by :func:`is_one_of`.
    """

    def __init__(self, query: Select[*tuple[Any, ...]], **columns: InstrumentedAttribute[Any]) -> None:
        """
        :param query: without parameters that expand (``IN``).
        :param columns: by the names of the parameters with their values.
        """
        self._columns = columns
        of_one_array = [is_in_array(column, name) for name, column in columns.items()]
        of_values = [column.in_(bindparam(name, expanding=True)) for name, column in columns.items()]
        self._of_arrays, self._of_values = query.where(*of_one_array), query.where(*of_values)

    def __call__(self, connection: Connection, **values: Any) -> Sequence[Any]:
        """The rows, with the columns as attributes.

        :param values: for each column as many as a statement takes, and one for each other parameter.
        """
        values |= {name: list(values[name]) for name in self._columns}
        query = self._of_arrays if connection.dialect.name == "postgresql" else self._of_values
        return connection.execute(query, values).all()


def at_most(rows: int) -> BindParameter[int]:
    """A LIMIT that is written into the statement.

    Connections for reads use the same plan for all parameters. A LIMIT in a parameter then counts as a tenth
    of the table, and a page of fifty transfers is planned as a sort of a hundred thousand.
    """
    return bindparam(None, rows, type_=Integer, literal_execute=True)


def with_values(query: Q) -> Q:
    """The query with its values written into the statement, quoted; ids stay parameters.

    Where values differ much in how many rows they have, the one plan for all of them may read very many.
    """

    def written(element: Any, **_: Any) -> Any:
        is_value = isinstance(element, BindParameter) and not isinstance(element.type, Hash32)
        return element.render_literal_execute() if is_value else None

    return cast(Q, replacement_traverse(query, {}, written))
