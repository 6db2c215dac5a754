"""A second schema: empty copies of stored tables, in which statements write instead, as of one moment.

Statements name tables without a schema, so both databases find the second ones first, and everything else as
it is stored. On PostgreSQL they are in a schema of their own, which comes first on the search path of one
transaction. On SQLite they are in a file of their own, to which the database is attached.

SQLAlchemy's ``schema_translate_map`` does not reach statements that are text.

Nothing of it is ever committed, and nobody waits for it.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    MetaData,
    NullPool,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable

from app.db.engine import connected, reading
from app.db.schema import is_read_only
from app.db.types import SqliteExactSum

SCHEMA: Final = "verifying"
"""On PostgreSQL. A migration gives it to the gateway's role."""

_ATTACHED: Final = "stored"
_KEY: Final = 0x76657269  # "veri"

_RIGHTS: Final = text("""
SELECT quote_ident(current_user), current_database(), (
    SELECT has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE')
    FROM pg_namespace WHERE nspname = :schema
)
""")
_BEGIN: Final = text("""
SELECT
    -- Not current_schema(): a role may have a schema of its own in front of that of the tables.
    (SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE pg_class.oid = to_regclass(:table)),
    pg_try_advisory_xact_lock(:key),
    set_config('search_path', :schema || ', ' || current_setting('search_path'), true),
    -- Statements are planned by how large the tables are, which are empty at first.
    set_config('plan_cache_mode', 'force_custom_plan', true),
    set_config('idle_in_transaction_session_timeout', '0', true)
""")
_PAGES: Final = text(
    "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE"
    " AND name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN :tables)"
).bindparams(bindparam("tables", expanding=True))


class NoSecondSchema(RuntimeError):
    """A second schema is not possible now; the message says why, and what to do."""


class Room(Struct, frozen=True):
    """Bytes of disk: about how many a second schema needs, and how many are free, None where nobody knows."""

    needed: int
    free: int | None


class SecondSchema(Struct, frozen=True):
    """A connection whose statements write into the second tables.

    The stored ones are as they were when it began.
    """

    connection: Connection
    _stored: str
    _second: str

    def stored(self, table: Table) -> Table:
        """The table as it is stored, for statements that read both."""
        return _in_schema(table, self._stored)

    def second(self, table: Table) -> Table:
        """The second table, for statements that read both."""
        return _in_schema(table, self._second)


@cache
def _in_schema(table: Table, schema: str) -> Table:
    return table.to_metadata(MetaData(), schema=schema)


def room_for(engine: Engine, tables: Sequence[Table]) -> Room:
    """How much disk second ones of these tables need: at most as much as the stored ones with their indexes.

    :raises NoSecondSchema: that is more than is free, or there can be none for another reason.
    """
    with reading(engine) as connection:
        if connection.dialect.name == "postgresql":
            _refuse_without_rights(connection)
            sizes = (func.pg_total_relation_size(table.name) for table in tables)
            return Room(sum(connection.execute(select(*sizes)).one()), None)
        file = _file_of(connection)
        room = Room(_pages(connection, file, tables), shutil.disk_usage(file.parent).free)
    if room.free is not None and room.free < room.needed:
        raise NoSecondSchema(
            f"this needs about {in_words(room.needed)} of disk in {file.parent}, where "
            f"{in_words(room.free)} are free: make room, and run the command again"
        )
    return room


def in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _refuse_without_rights(connection: Connection) -> None:
    if is_read_only(connection):
        raise NoSecondSchema(
            "this needs a database that accepts writes, not a standby: set DATABASE_URL to the primary"
        )
    role, name, may_use = connection.execute(_RIGHTS, {"schema": SCHEMA}).one()
    if may_use:
        return
    statement = f"GRANT USAGE, CREATE ON SCHEMA {SCHEMA} TO {role}"
    if may_use is None:
        statement = f"CREATE SCHEMA {SCHEMA} AUTHORIZATION {role}"
    command = shlex.join(["psql", "-d", name, "-c", statement])
    raise NoSecondSchema(f"{role} may not use the schema {SCHEMA}. Run this once, as a superuser: {command}")


def _file_of(connection: Connection) -> Path:
    """The database's file as SQLite itself calls it: by one name, whatever links lead there."""
    *_, file = connection.exec_driver_sql("PRAGMA database_list").first() or ("",)
    if not file:
        raise NoSecondSchema("this needs a database in a file: set DATABASE_URL to one")
    return Path(file)


def _pages(connection: Connection, file: Path, tables: Sequence[Table]) -> int:
    try:
        return connection.scalar(_PAGES, {"tables": [table.name for table in tables]}) or 0
    except DBAPIError:  # not every build of SQLite knows the size of a table
        return file.stat().st_size


@contextmanager
def second_schema(engine: Engine, tables: Sequence[Table]) -> Iterator[SecondSchema]:
    """Empty second tables, until the block ends.

    :param tables: that get a second one, those first that others refer to. They have the keys, and the
        indexes that a column itself declares: others only serve lists.
    :raises NoSecondSchema: another process has one at this moment.
    """
    is_postgresql = engine.dialect.name == "postgresql"
    begun = _on_postgresql(engine, tables[0]) if is_postgresql else _on_sqlite(engine)
    with begun as second:
        for table in tables:
            _create(second.connection, second.second(table))
        yield second


def _create(connection: Connection, table: Table) -> None:
    connection.execute(CreateTable(table, include_foreign_key_constraints=[]))
    if connection.dialect.name == "postgresql":  # then it goes into no log of the server, nor to its replicas
        connection.exec_driver_sql(f"ALTER TABLE {SCHEMA}.{table.name} SET UNLOGGED")
    for index in table.indexes:
        if all(column.index for column in index.columns):
            connection.execute(CreateIndex(index))


@contextmanager
def _on_postgresql(engine: Engine, table: Table) -> Iterator[SecondSchema]:
    with connected(engine, isolation_level="REPEATABLE READ") as connection:
        transaction = connection.begin()
        try:
            values = {"schema": SCHEMA, "key": _KEY, "table": table.name}
            stored, is_only, *_ = connection.execute(_BEGIN, values).one()
            if not is_only:
                raise NoSecondSchema(_ANOTHER)
            yield SecondSchema(connection, stored, SCHEMA)
        finally:
            transaction.rollback()


_ANOTHER: Final = "another events verify or replay runs: wait until it has ended"


@contextmanager
def _on_sqlite(engine: Engine) -> Iterator[SecondSchema]:
    with reading(engine) as connection:
        stored = _file_of(connection)
    file = stored.with_name(f"{stored.name}-{SCHEMA}")
    with _only_one(file), _attached(engine, file, stored) as connection:
        yield SecondSchema(connection, _ATTACHED, "main")


@contextmanager
def _only_one(file: Path) -> Iterator[None]:
    """An empty file, which is removed at the end. No other process has it meanwhile."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise NoSecondSchema(
            f"this needs a file {file}: {error.strerror}: let this user write there"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NoSecondSchema(_ANOTHER) from None
        if not _is_there(descriptor, file):  # another process has removed it at its end
            raise NoSecondSchema(_ANOTHER)
        os.truncate(descriptor, 0)  # of one that was killed
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _is_there(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _attached(engine: Engine, file: Path, stored: Path) -> Iterator[Connection]:
    """A transaction in a file, with the database attached to it as it is at this moment."""
    second = _engine_of(file, stored)
    second.update_execution_options(**engine.get_execution_options())  # what was handed in
    with second.connect() as connection:
        yield connection


@lru_cache(maxsize=2)
def _engine_of(file: Path, stored: Path) -> Engine:
    """Used again by a process that verifies again: what it compiled for one dialect serves no other."""
    engine = create_engine(URL.create("sqlite", database=str(file)), poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def _connect(dbapi: sqlite3.Connection, _record: Any) -> None:
        dbapi.isolation_level = None
        dbapi.create_aggregate("exact_sum", 1, SqliteExactSum)  # type: ignore[arg-type]
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            dbapi.execute(f"PRAGMA {pragma}")
        dbapi.execute(f"ATTACH ? AS {_ATTACHED}", (str(stored),))

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql(f"PRAGMA {_ATTACHED}.user_version")  # a read: later writes are not seen

    return engine
