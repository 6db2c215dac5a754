"""Engines: how connections are pooled and prepared, and the transactions that read and write.

One writer at a time changes facts and configuration (docs/decisions/0002-one-writer.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError

from app.db.pool import FairPool
from app.db.postgresql import Answers, NoAnswer, prepare_pooled, wait_by_greenlets, wait_for_answers
from app.db.sqlite import prepare_sqlite
from app.db.timeouts import Timeouts, set_session_limits, set_timeouts, take_advisory_lock, timeouts_of
from app.db.upserts import run_appends
from app.db.writes import writes_of

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

POOL_SECONDS: Final = 3
"""How long a request waits for a free connection before it is answered with 503."""

_AFTER_COMMIT = "gateway_after_commit"

_ADVISORY_KEY = 0x67617465  # "gate"
_LINE_KEY = 0x6C696E65  # "line"


def pool_options(size: int, overflow: int = 0) -> dict[str, Any]:
    """How the pool of an engine is made.


    :param size: connections that are kept open.
    :param overflow: connections opened beyond them when they are needed.
    """
    return {
        "poolclass": FairPool,
        "pool_size": size,
        "max_overflow": overflow,
        "pool_timeout": POOL_SECONDS,
        # Messages of errors go to the log, and parameters may be hashes of passwords, or megabytes.
        "hide_parameters": True,
    }


def prepare(
    engine: Engine, timeouts: Timeouts, *, pooled: bool = False, answers: Answers | None = None
) -> None:
    """Attach the connection behaviour this application relies on. Call once per engine.

    :param pooled: whether a pooler shares PostgreSQL's connections between transactions.
    :param answers: where to note that PostgreSQL has answered.
    """
    set_timeouts(engine, timeouts)
    reader = bool(engine.get_execution_options().get(READER))
    if engine.dialect.name == "sqlite":
        prepare_sqlite(engine, reader=reader, writer_option=WRITER)
    if engine.dialect.name == "postgresql":
        wait_by_greenlets()
        run_appends(engine)
        wait_for_answers(engine, answers)
        if pooled:
            prepare_pooled(engine, reader=reader)
        else:
            _set_limits_once(engine, reader=reader)


def _set_limits_once(engine: Engine, *, reader: bool) -> None:
    @event.listens_for(engine, "connect")
    def _set_limits(dbapi: Any, _record: Any) -> None:
        # Planning a median mostly takes longer than running it. All reads of public answers use an
        # index, whatever the parameters.
        planning = {"plan_cache_mode": "force_generic_plan", "jit": "off"} if reader else {}
        set_session_limits(dbapi, timeouts_of(engine), **planning)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction of the only writer.

    Facts are folded one writer at a time: then the order of sequence numbers is the order of
    commits, "accepted before" has a meaning, and both databases behave alike
    (docs/decisions/0002-one-writer.md). The lock goes with the transaction.

    :raises OperationalError: the lock was not granted in the time that the engine's timeouts allow.
    """
    callbacks: list[Callable[[], None]] = []
    options: dict[str, Any] = {WRITER: True, _AFTER_COMMIT: callbacks}
    if engine.dialect.name == "postgresql":
        # Stricter levels, which a server may have as its default, would keep the view of the database
        # from before the wait for the lock.
        options["isolation_level"] = "READ COMMITTED"
    writes = writes_of(engine)
    try:
        with (
            engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            if connection.dialect.name == "postgresql":
                take_advisory_lock(connection, _ADVISORY_KEY, _LINE_KEY)
            yield connection
    except DBAPIError as error:
        writes.note(error)
        raise
    finally:
        writes.ended()
    writes.note(None)
    for callback in callbacks:
        callback()


@contextmanager
def counting(engine: Engine) -> Iterator[Connection]:
    """One transaction that reads rows and writes them, beside the writer of facts where the database can.

    On PostgreSQL it waits for the rows alone: the caller locks them with ``FOR UPDATE``, in the order of
    their keys. SQLite has one lock for every writer (docs/decisions/0013-counted-before-judged.md).
    """
    options: dict[str, Any] = {WRITER: True}
    if engine.dialect.name == "postgresql":
        # Stricter levels would refuse what another transaction counted meanwhile instead of reading it.
        options["isolation_level"] = "READ COMMITTED"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


def after_commit(connection: Connection, callback: Callable[[], None]) -> None:
    """Call back once the transaction stands, and not if it does not.

    :param connection: opened by ``writing``.
    """
    connection.get_execution_options()[_AFTER_COMMIT].append(callback)


def is_writing(connection: Connection) -> bool:
    """Whether the connection is that of the only writer: nobody else changes facts or configuration now."""
    return _AFTER_COMMIT in connection.get_execution_options()


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
        if not error.connection_invalidated or isinstance(error.orig, NoAnswer):
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
