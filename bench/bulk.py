"""Fill empty tables with millions of rows, for measurements only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, LargeBinary, Table, text

Row = Sequence[str]
"""A text for each column of the table: bytes in hex, times (UTC) as ``2026-01-31 12:00:00.000000``."""

NULL: Final = "\\N"

_CONSTRAINTS: Final = text(
    "SELECT conrelid::regclass::text AS of, quote_ident(conname) AS name,"
    " pg_get_constraintdef(oid) AS definition"
    " FROM pg_constraint WHERE conrelid::regclass::text = ANY(:names) AND contype IN ('p', 'u', 'f')"
    " OR confrelid::regclass::text = ANY(:names) AND contype = 'f'"  # also of tables that only refer to these
    " ORDER BY contype = 'f', conname"  # keys before what refers to them
)
_INDEXES: Final = text(
    "SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index"
    " WHERE indrelid::regclass::text = ANY(:names) AND NOT indisprimary AND NOT indisunique ORDER BY 1"
)


def fill(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows, by COPY on PostgreSQL. Values hold no tab, no line end and no backslash."""
    if not rows:
        return
    names = [column.name for column in table.columns]
    binary = [index for index, column in enumerate(table.columns) if _is_binary(column.type)]
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL timezone = 'UTC'")
        cursor: Any = connection.connection.cursor()
        with cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as copy:
            copy.write("".join(_line(row, binary) for row in rows))
        return
    marks = ", ".join("?" for _ in names)
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})",
        [_values(row, binary) for row in rows],
    )


def _is_binary(kind: Any) -> bool:
    return isinstance(getattr(kind, "impl", kind), LargeBinary)


def _line(row: Row, binary: list[int]) -> str:
    if binary == [0]:  # the usual case, without a loop
        return "\\\\x" + "\t".join(row) + "\n"
    return "\t".join("\\\\x" + value if n in binary else value for n, value in enumerate(row)) + "\n"


def _values(row: Row, binary: list[int]) -> tuple[str | bytes | None, ...]:
    values: list[str | bytes | None] = [None if value == NULL else value for value in row]
    for index in binary:
        values[index] = bytes.fromhex(row[index])
    return tuple(values)


@contextmanager
def without_indexes(connection: Connection, tables: Sequence[Table]) -> Iterator[None]:
    """Inside the block PostgreSQL's tables have no keys and indexes; building them at the end is faster.

    All within the caller's transaction: if it fails, the tables are as before.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    names = {"names": [table.name for table in tables]}
    constraints = connection.execute(_CONSTRAINTS, names).all()
    indexes = connection.execute(_INDEXES, names).all()
    for row in reversed(constraints):
        connection.exec_driver_sql(f"ALTER TABLE {row.of} DROP CONSTRAINT {row.name}")
    for row in indexes:
        connection.exec_driver_sql(f"DROP INDEX {row.name}")
    yield
    connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '512MB'")
    for row in constraints:
        connection.exec_driver_sql(f"ALTER TABLE {row.of} ADD CONSTRAINT {row.name} {row.definition}")
    for row in indexes:
        connection.exec_driver_sql(row.definition)
