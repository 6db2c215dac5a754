"""Engines: how connections are pooled and prepared, and the transactions that read and write.

One writer at a time changes facts and configuration (docs/decisions/0002-one-writer.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from app.db.servers import OneServer
from app.db.sqlite import prepare_sqlite
from app.db.timeouts import (
    Answers,
    LateAnswer,
    Timeouts,
    Waiting,
    set_session_limits,
    set_timeouts,
    set_transaction_limits,
    take_advisory_lock,
    timeouts_of,
)
from app.db.writes import writes_of

P = ParamSpec("P")
R = TypeVar("R")
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
"""Options of an engine for single-statement reads: its connections need neither BEGIN nor ROLLBACK, and no
switching of their isolation level, which costs as much as the read itself."""

POOL_SECONDS: Final = 3
"""How long a request waits for a free connection before it is answered with 503."""

_AFTER_COMMIT = "gateway_after_commit"

_ADVISORY_KEY = 0x67617465  # "gate"
_LINE_KEY = 0x6C696E65  # "line"


class Tickets:
    """A bounded number of tickets. One that is given back goes to the caller who has waited longest.

    A condition variable, as in SQLAlchemy's pool, lets a newcomer take what was freed for a waiting
    caller. With many more callers than connections some then wait a hundred times as long as others.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = Lock()
        self._waiting: deque[Lock] = deque()
        self.refused = 0
        """How many waited in vain since the start."""

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self, seconds: float) -> bool:
        """Take a ticket; False where none was given back in time."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            if turn.acquire(timeout=seconds):
                return True
        except BaseException:  # of a greenlet that is ended while it waits
            if not self._leave(turn):
                self.give_back()
            raise
        if self._leave(turn):
            self.refused += 1
            return False
        return True  # it was given at the last moment

    def _leave(self, turn: Lock) -> bool:
        """Wait no more. False where the ticket was given already."""
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return True
        return False

    def give_back(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


_TICKETS: Final = "gateway_tickets"


def tickets_of(engine: Engine) -> Tickets | None:
    """One for each connection of the engine's pool; None where the engine has no bounded one."""
    tickets: Tickets | None = engine.get_execution_options().get(_TICKETS)
    return tickets


@contextmanager
def connected(engine: Engine, **options: Any) -> Iterator[Connection]:
    """A connection of the engine's pool, with these execution options. The caller who waits longest is served
    first: the pool itself is unfair under greenlets.

    :raises TimeoutError: of SQLAlchemy: none was free in time.
    """
    tickets, pool = tickets_of(engine), engine.pool
    if tickets is not None and isinstance(pool, QueuePool):
        with Waiting(pool.timeout()) as seconds:
            if not seconds or not tickets.take(seconds):
                raise PoolTimeout(f"no connection was free within {seconds or 0:g} s")
    try:
        with engine.connect() as connection:
            yield connection.execution_options(**options) if options else connection
    finally:
        if tickets is not None:
            tickets.give_back()


def pool_options(size: int) -> dict[str, Any]:
    """Options of an engine's pool.

    :param size: connections, opened when they are needed. A caller who holds one must not wait for another
        one of the same pool: if all did so, all would wait in vain.
    """
    return {
        "poolclass": QueuePool,
        "pool_size": size,
        "max_overflow": 0,
        "pool_timeout": POOL_SECONDS,
        # Messages of errors go to the log, and parameters may be hashes of passwords, or megabytes.
        "hide_parameters": True,
    }


def prepare(
    engine: Engine,
    timeouts: Timeouts,
    *,
    pooled: bool = False,
    answers: Answers | None = None,
    server: OneServer | None = None,
) -> None:
    """Attach the connection behaviour that this application needs. Call once per engine.

    :param pooled: whether a pooler shares PostgreSQL's connections between transactions.
    :param answers: where to note that PostgreSQL has answered.
    :param server: which the connections lead to, together with those of other engines.
    """
    set_timeouts(engine, timeouts)
    if isinstance(engine.pool, QueuePool):
        engine.update_execution_options(**{_TICKETS: Tickets(engine.pool.size())})
    reader = bool(engine.get_execution_options().get(READER))
    if engine.dialect.name == "sqlite":
        prepare_sqlite(engine, reader=reader, writer_option=WRITER)
    if engine.dialect.name == "postgresql":
        from app.db.postgresql import wait_for_answers  # noqa: PLC0415  the driver

        wait_for_answers(engine, answers, server or OneServer())
        if pooled:
            _prepare_pooled(engine, reader=reader)
        else:
            _set_limits_once(engine, reader=reader)


_POOLED: Final = "gateway_pooled"


def is_pooled(engine: Engine) -> bool:
    """Whether a pooler shares the engine's connections between transactions, by the settings."""
    return bool(engine.get_execution_options().get(_POOLED))


def _prepare_pooled(engine: Engine, *, reader: bool) -> None:
    """Attach the behaviour behind a pooler to an engine of PostgreSQL.

    No state may be left on a connection that a pooler lends for one transaction: the next statement may use
    another one, and another client may get what was left. So nothing is prepared, no session
    has a lock, and each transaction sets its own limits.

    :param reader: its connections never open a transaction, so only the role can bound their statements.
    """
    engine.update_execution_options(**{_POOLED: True})

    @event.listens_for(engine, "connect")
    def _prepare_nothing(dbapi: Any, _record: Any) -> None:
        dbapi.prepare_threshold = None

    @event.listens_for(engine, "begin")
    def _set_limits(connection: Connection) -> None:
        if reader or connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            return
        set_transaction_limits(connection)


def _set_limits_once(engine: Engine, *, reader: bool) -> None:
    @event.listens_for(engine, "connect")
    def _set_limits(dbapi: Any, _record: Any) -> None:
        # Planning a median mostly takes longer than running it. All reads of public answers use an index,
        # with any parameters.
        planning = {"plan_cache_mode": "force_generic_plan", "jit": "off"} if reader else {}
        set_session_limits(dbapi, timeouts_of(engine), **planning)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction of the only writer.

    Facts are projected by one writer at a time: then the order of sequence numbers is the order of commits,
    "accepted before" has a meaning, and both databases behave alike (docs/decisions/0002-one-writer.md). The
    lock ends with the transaction.

    :raises OperationalError: the lock was not granted within the engine's timeouts.
    """
    callbacks: list[Callable[[], None]] = []
    options: dict[str, Any] = {WRITER: True, _AFTER_COMMIT: callbacks}
    if engine.dialect.name == "postgresql":
        # Stricter levels, which a server may have as its default, would use the snapshot from before the wait
        # for the lock.
        options["isolation_level"] = "READ COMMITTED"
    writes = writes_of(engine)
    try:
        with (
            connected(engine, **options) as connection,
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
    """One transaction that reads and writes rows, in parallel with the writer of facts where the database
    can.

    On PostgreSQL it waits only for the rows: the caller locks them with ``FOR UPDATE``, in the order of their
    keys. SQLite has one lock for every writer (docs/decisions/0013-counted-before-validated.md).
    """
    options: dict[str, Any] = {WRITER: True}
    if engine.dialect.name == "postgresql":
        # Stricter levels would refuse what another transaction counted meanwhile instead of reading it.
        options["isolation_level"] = "READ COMMITTED"
    with connected(engine, **options) as connection, connection.begin():
        yield connection


def after_commit(connection: Connection, callback: Callable[[], None]) -> None:
    """Call back after the transaction has committed, and not if it fails.

    :param connection: opened by ``writing``.
    """
    connection.get_execution_options()[_AFTER_COMMIT].append(callback)


def is_writing(connection: Connection) -> bool:
    """Whether the connection is that of the only writer: facts and configuration cannot change meanwhile."""
    return _AFTER_COMMIT in connection.get_execution_options()


def reading(engine: Engine) -> AbstractContextManager[Connection]:
    """A connection for single-statement reads: no transaction round trips.

    :param engine: best one made with ``READER_OPTIONS``; any other is switched for this connection.
    """
    if engine.get_execution_options().get(READER):
        return connected(engine)
    return connected(engine, isolation_level="AUTOCOMMIT")


def run_read(
    engine: Engine, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The result of ``question(connection, …)`` on a connection for single-statement reads.

    A restart of the database leaves dead connections in the pool. The first call that finds one drops them
    all and runs again, so no other call fails.

    :param question: only reads, and reads to the end: it may run twice.
    """
    try:
        with reading(engine) as connection:
            return question(connection, *args, **kwargs)
    except DBAPIError as error:
        if not error.connection_invalidated or isinstance(error.orig, LateAnswer):
            raise
    with reading(engine) as connection:
        return question(connection, *args, **kwargs)


@contextmanager
def reading_consistently(engine: Engine) -> Iterator[Connection]:
    """One transaction in which several statements see the same snapshot of the database.

    :param engine: on SQLite not one made with ``READER_OPTIONS``, which never opens a transaction.
    """
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with connected(engine, **level) as connection, connection.begin():
        yield connection


class HandedIn(Generic[P, R]):
    """A hook in a feature's transactions, for features above it.

    The feature calls it with the transaction and a change that was made or is planned. A feature above hands
    in the function.
    """

    def __init__(self, name: str) -> None:
        self._option = f"gateway_handed_in_{name}"

    def hand_in(self, engine: Engine, act: Callable[Concatenate[Connection, P], R]) -> None:
        engine.update_execution_options(**{self._option: act})

    def __call__(self, connection: Connection, *args: P.args, **kwargs: P.kwargs) -> R:
        """Do what was handed in, and return its result.

        :raises KeyError: nothing was: the engine was opened without the features.
        """
        act: Callable[..., R] = connection.get_execution_options()[self._option]
        return act(connection, *args, **kwargs)
