"""How connections to the two databases behave, and the one lock that orders all writers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError

from app.models.types import SqliteExactSum

P = ParamSpec("P")
T = TypeVar("T")

WRITER = "gateway_writer"
"""Execution option of a connection that is about to write facts or configuration."""

READER = "gateway_reader"
"""Execution option of an engine whose connections never open a transaction."""

READER_OPTIONS: dict[str, Any] = {
    "isolation_level": "AUTOCOMMIT",
    "pool_reset_on_return": None,
    "execution_options": {READER: True},
}
"""How an engine for single-statement reads is made: its connections need neither BEGIN nor ROLLBACK,
and no switching of their isolation level, which costs as much as the read itself."""

_AFTER_COMMIT = "gateway_after_commit"

_ADVISORY_KEY = 0x67617465  # "gate"


def prepare(engine: Engine) -> None:
    """Attach the connection behaviour this application relies on. Call once per engine."""
    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", _count_in_utc)
        if engine.get_execution_options().get(READER):
            event.listen(engine, "connect", _plan_once)
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)


def _count_in_utc(dbapi: Any, _record: Any) -> None:
    """Let the server write times in UTC, whatever zone it, its role or the URL sets.

    West of it the first hours of the year 1 are in the year 1 BC, which Python cannot read.
    """
    autocommit, dbapi.autocommit = dbapi.autocommit, True
    dbapi.execute("SET TIME ZONE 'UTC'")
    dbapi.autocommit = autocommit


def _plan_once(dbapi: Any, _record: Any) -> None:
    """Keep the plans of prepared statements: planning a median takes five times as long as running it.

    All reads of public answers use an index, whatever the parameters. Behind a pooler that shares server
    connections the setting may reach other clients, or not all of ours; that affects speed only.
    """
    autocommit, dbapi.autocommit = dbapi.autocommit, True
    dbapi.execute("SET plan_cache_mode = force_generic_plan")
    dbapi.execute("SET jit = off")
    dbapi.autocommit = autocommit


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "do_connect")
    def _make_folder(*_: Any) -> None:
        file = engine.url.database
        if file and not file.startswith((":", "file:")):
            with suppress(OSError):  # the driver says it better: it cannot open the file
                Path(file).parent.mkdir(parents=True, exist_ok=True)  # a fresh checkout has no instance/

    @event.listens_for(engine, "connect")
    def _connect(dbapi: sqlite3.Connection, _record: Any) -> None:
        # The driver's own implicit BEGIN comes too late to see a stable snapshot.
        dbapi.isolation_level = None
        dbapi.create_aggregate("exact_sum", 1, SqliteExactSum)  # type: ignore[arg-type]
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            dbapi.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("isolation_level") != "AUTOCOMMIT" and not options.get(READER):
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(WRITER) else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction of the only writer.

    Facts are folded one writer at a time: then the order of sequence numbers is the order of
    commits, "accepted before" has a meaning, and both databases behave alike
    (docs/decisions/0002-one-writer.md). The lock goes with the transaction.
    """
    callbacks: list[Callable[[], None]] = []
    options: dict[str, Any] = {WRITER: True, _AFTER_COMMIT: callbacks}
    if engine.dialect.name == "postgresql":
        # Stricter levels, which a server may have as its default, would keep the view of the database
        # from before the wait for the lock.
        options["isolation_level"] = "READ COMMITTED"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
        yield connection
    for callback in callbacks:
        callback()


def after_commit(connection: Connection, callback: Callable[[], None]) -> None:
    """Call back once the transaction stands, and not if it does not.

    :param connection: opened by ``writing``.
    """
    connection.get_execution_options()[_AFTER_COMMIT].append(callback)


def reading(engine: Engine) -> AbstractContextManager[Connection]:
    """A connection for single-statement reads: no transaction round trips.

    :param engine: best one made with ``READER_OPTIONS``; any other is switched for this connection.
    """
    connection = engine.connect()
    if engine.get_execution_options().get(READER):
        return connection
    return connection.execution_options(isolation_level="AUTOCOMMIT")


def ask(
    engine: Engine, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """What ``question(connection, …)`` answers on a connection for single-statement reads.

    A restart of the database leaves dead connections in the pool. The first to find one drops them
    all and asks once more, so nobody else hears of it.

    :param question: reads only, and reads to the end: it may be asked twice.
    """
    try:
        with reading(engine) as connection:
            return question(connection, *args, **kwargs)
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
    with reading(engine) as connection:
        return question(connection, *args, **kwargs)


@contextmanager
def reading_consistently(engine: Engine) -> Iterator[Connection]:
    """One transaction in which several statements see the database at one moment.

    :param engine: on SQLite not one made with ``READER_OPTIONS``, which never opens a transaction.
    """
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**level) as connection, connection.begin():
        yield connection
