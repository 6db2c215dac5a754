"""Fill empty tables with millions of rows, for measurements only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Table, text

Row = str
"""A line of PostgreSQL's COPY with its end: the columns of the table with tabs between them, bytes in hex
after ``HEX``, times (UTC) as ``2026-01-31 12:00:00.000000``. Values contain no tab, line end or backslash."""

NULL: Final = "\\N"
HEX: Final = "\\\\x"

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


def fill(connection: Connection, table: Table, rows: Sequence[Row], *, emptied: bool = False) -> None:
    """Insert rows, by COPY on PostgreSQL.

    :param emptied: by ``without_indexes`` in this transaction. PostgreSQL then writes the rows as VACUUM
        would leave them, so that no page need be written twice.
    """
    if not rows:
        return
    names = [column.name for column in table.columns]
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL timezone = 'UTC'")
        cursor: Any = connection.connection.cursor()
        how = " (FREEZE)" if emptied else ""
        with cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN{how}") as copy:
            copy.write("".join(rows))
        return
    marks = ", ".join("?" for _ in names)
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})", [_values(row) for row in rows]
    )


def _values(row: Row) -> tuple[str | bytes | None, ...]:
    return tuple(map(_value, row.rstrip("\n").split("\t")))


def _value(text: str) -> str | bytes | None:
    if text.startswith(HEX):
        return bytes.fromhex(text[len(HEX) :])
    return None if text == NULL else text


@contextmanager
def without_indexes(connection: Connection, tables: Sequence[Table]) -> Iterator[None]:
    """Empty the tables. Inside the block those of PostgreSQL have no keys and indexes: to build them at the
    end is faster, and where the log is minimal nothing of such tables is written into it.

    All within the caller's transaction: if it fails, the tables are as before.
    """
    if connection.dialect.name != "postgresql":
        for table in reversed(tables):
            connection.execute(table.delete())
        yield
        return
    names = {"names": [table.name for table in tables]}
    constraints = connection.execute(_CONSTRAINTS, names).all()
    indexes = connection.execute(_INDEXES, names).all()
    for row in reversed(constraints):
        connection.exec_driver_sql(f"ALTER TABLE {row.of} DROP CONSTRAINT {row.name}")
    for row in indexes:
        connection.exec_driver_sql(f"DROP INDEX {row.name}")
    connection.exec_driver_sql(f"TRUNCATE {', '.join(names['names'])}")
    yield
    connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '1GB'")
    for row in constraints:
        connection.exec_driver_sql(f"ALTER TABLE {row.of} ADD CONSTRAINT {row.name} {row.definition}")
    for row in indexes:
        connection.exec_driver_sql(row.definition)
