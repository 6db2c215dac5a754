"""The databases that the tests of one process share: emptied before each test, filled from memory."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url

import app.features  # noqa: F401  the tables register themselves
from app.db.models import db

BACKENDS = ("sqlite", "postgresql")

BY_MIGRATIONS = frozenset({"alembic_version", "schema_floors"})
"""Tables whose rows are the migrations' own."""

TABLES = tuple(table.name for table in db.metadata.sorted_tables if table.name not in BY_MIGRATIONS)
"""Every other table, those that others refer to first."""


FILLED = " UNION ALL ".join(
    f"""SELECT '{name}' WHERE EXISTS (SELECT 1 FROM "{name}")""" for name in reversed(TABLES)
)
"""Asks which tables have rows; those that refer to others come first."""


def filled_tables(connection: Connection) -> list[str]:
    """The tables that have rows, in an order in which they can be emptied."""
    return list(connection.scalars(text(FILLED)))


class SharedDatabase(ABC):
    """A migrated database that one test after another uses."""

    url: str

    def __init__(self) -> None:
        self._contents: dict[object, Any] = {}

    def fill(self, key: object, fill: Callable[[], object]) -> None:
        """Fill the empty database. ``fill`` runs once for each key; later its rows are written back.

        :param key: names the rows. Equal keys must mean equal rows.
        """
        assert not self.filled(), "only an empty database is filled"
        if key in self._contents:
            self._write(self._contents[key])
        else:
            fill()
            self._contents[key] = self._read()

    @abstractmethod
    def empty(self) -> None:
        """Delete every row. Only tables that have rows cost time."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection that empties and fills."""

    def filled(self) -> list[str]:
        """The tables that have rows, those that refer to others first."""
        return [name for (name,) in self._rows(FILLED)]

    @abstractmethod
    def _rows(self, query: str) -> Iterable[Any]:
        """What a statement answers."""

    @abstractmethod
    def _read(self) -> Any:
        """Every row."""

    @abstractmethod
    def _write(self, contents: Any) -> None:
        """Write what ``_read`` returned."""


class SharedSqlite(SharedDatabase):
    """A copy of the migrated file."""

    def __init__(self, template: Path, file: Path) -> None:
        super().__init__()
        shutil.copy(template, file)
        self.url = f"sqlite:///{file}"
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute("PRAGMA synchronous=OFF")

    def empty(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for name in self.filled():
            self._connection.execute(f'DELETE FROM "{name}"')
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()

    def _rows(self, query: str) -> Iterable[Any]:
        return self._connection.execute(query)

    def _read(self) -> dict[str, list[Any]]:
        return {
            name: self._connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for name in reversed(self.filled())
        }

    def _write(self, contents: dict[str, list[Any]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for name, rows in contents.items():
            values = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f'INSERT INTO "{name}" VALUES ({values})', rows)
        self._connection.execute("COMMIT")


@dataclass
class _PostgresContents:
    tables: dict[str, bytes] = field(default_factory=dict)
    sequences: list[tuple[str, int]] = field(default_factory=list)


class SharedPostgres(SharedDatabase):
    """A database of the run's server."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        conninfo = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection = psycopg.connect(conninfo, autocommit=True)

    def empty(self) -> None:
        used = self.filled()
        if used:
            self._connection.execute("; ".join(f'DELETE FROM "{name}"' for name in used))

    def close(self) -> None:
        self._connection.close()

    def _rows(self, query: str) -> Iterable[Any]:
        return self._connection.execute(query)

    def _read(self) -> _PostgresContents:
        found = _PostgresContents()
        with self._connection.cursor() as cursor:
            for name in reversed(self.filled()):
                with cursor.copy(f'COPY "{name}" TO STDOUT (FORMAT BINARY)') as copied:
                    found.tables[name] = b"".join(copied)
            cursor.execute("SELECT sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL")
            found.sequences = list(cursor)
        return found

    def _write(self, contents: _PostgresContents) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            for name, rows in contents.tables.items():
                with cursor.copy(f'COPY "{name}" FROM STDIN (FORMAT BINARY)') as copied:
                    copied.write(rows)
            for name, value in contents.sequences:
                cursor.execute("SELECT setval(%s, %s)", (name, value))


def new_postgres_database(server: str, template: str | None = None) -> str:
    """The URL of a new database on the server: empty, or a copy of the database ``template``."""
    name = f"gateway_{uuid.uuid4().hex[:12]}"
    copied = f' TEMPLATE "{make_url(template).database}"' if template else ""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"{copied}'))
    engine.dispose()
    head, _, tail = server.partition("/postgres?")
    return f"{head}/{name}?{tail}"


def empty_tables(url: str) -> None:
    """Delete every row of a database that no other test shares meanwhile."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for name in filled_tables(connection):
            connection.execute(text(f'DELETE FROM "{name}"'))
    engine.dispose()


def run_on(url: str, *statements: str) -> None:
    """Run statements one by one."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()
