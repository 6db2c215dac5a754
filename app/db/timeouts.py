"""How long each kind of work may wait for the database in a step, and the current work in all its steps.

Work that needs an answer soon sets a limit for all its steps together (:func:`within`). Only waiting counts,
not what is done in between: a client may send its body slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

_OPTION: Final = "gateway_timeouts"


class Timeouts(Struct, frozen=True):
    """Limits of one kind of work, in seconds; 0 is none. PostgreSQL has all, SQLite only the first."""

    lock: float
    """How long to wait for the writer's lock, or any other."""
    statement: float
    """How long one statement may run, waits for locks included."""
    parallel: bool = True
    """Whether several processes of PostgreSQL may work on one statement. The client waits for all of them."""
    goes_first: bool = False
    """Whether it gets the writer's lock before all that wait for it without this."""
    within: float = 0
    """How long to wait for an answer of PostgreSQL before its connection is closed, where that differs from
    the time that a statement may run."""

    @property
    def answer(self) -> float | None:
        """How long to wait for an answer of PostgreSQL before its connection is closed; None for ever.

        A server that hangs does not enforce its own limits, and behind a pooler it has those of the role.
        """
        if self.within:
            return self.within
        # The wait for the writer's lock is part of its first statement.
        return self.statement + self.lock + _SPARE_SECONDS if self.statement else None


_SPARE_SECONDS: Final = 2.0
"""So that a server that works ends a statement itself, which costs no connection."""

PUBLIC: Final = Timeouts(lock=2, statement=5, within=5)
"""Public answers: milliseconds. Clients give up after seconds."""

REPLICA: Final = Timeouts(lock=2, statement=5, within=2)
"""The same for a replica, shorter: there is time left to read from the primary instead."""

CONSOLE: Final = Timeouts(lock=2, statement=20, goes_first=True)
"""Pages, edits, sign-ins and their audit records: a person waits, perhaps to stop a chain."""

FEED: Final = Timeouts(lock=20, statement=60)
"""Batches of events: reporters send them again, which costs more than waiting."""

COMMAND: Final = Timeouts(lock=60, statement=0)
"""Commands: they read whole logs, and their user can end them."""

MIGRATION: Final = Timeouts(lock=0.5, statement=0, parallel=False)
"""Migrations may take long. But while one waits for a table, all others wait behind it, so it retries."""


_ONE_PROCESS: Final = {"max_parallel_maintenance_workers": "0", "max_parallel_workers_per_gather": "0"}


def set_timeouts(engine: Engine, timeouts: Timeouts) -> None:
    """Set the limits of an engine. They hold for the connections that are opened afterwards."""
    engine.update_execution_options(**{_OPTION: timeouts})


def timeouts_of(bind: Engine | Connection) -> Timeouts:
    timeouts = bind.get_execution_options().get(_OPTION, CONSOLE)
    assert isinstance(timeouts, Timeouts)  # noqa: S101  narrows the type of an untyped registry
    return timeouts


def set_session_limits(dbapi: Any, timeouts: Timeouts, **settings: str) -> None:
    """Set the limits for a new connection to PostgreSQL, and other settings with them, in one round trip.

    They are set by a statement and not by the startup packet's ``options``, which PgBouncer refuses.
    """
    autocommit, dbapi.autocommit = dbapi.autocommit, True
    names = _limits(timeouts) | settings
    calls = ", ".join("set_config(%s, %s, false)" for _ in names)
    dbapi.execute(f"SELECT {calls}", [word for pair in names.items() for word in pair])
    dbapi.autocommit = autocommit


def set_transaction_limits(connection: Connection) -> None:
    """Set the limits for the transaction that begins now, and only for it, in one round trip.

    For connections that a pooler lends to others after each transaction.
    """
    names = _limits(timeouts_of(connection))
    calls = ", ".join("set_config(%s, %s, true)" for _ in names)
    connection.exec_driver_sql(f"SELECT {calls}", tuple(word for pair in names.items() for word in pair))


def _limits(timeouts: Timeouts) -> dict[str, str]:
    """The limits by PostgreSQL's names."""
    return {
        "statement_timeout": _milliseconds(timeouts.statement),
        "lock_timeout": _milliseconds(timeouts.lock),
        # A process that was stopped within a transaction must not hold its locks.
        "idle_in_transaction_session_timeout": "60000",
        # Overrides the zone of the server, its role or the URL: west of UTC the first hours of the year 1 are
        # in the year 1 BC, which Python cannot read.
        "TimeZone": "UTC",
        **({} if timeouts.parallel else _ONE_PROCESS),
    }


_LIMITS: Final = (
    "SELECT set_config('lock_timeout', :lock, true), set_config('statement_timeout', :statement, true)"
)
_FIRST: Final = text(f"{_LIMITS}, pg_advisory_xact_lock(:key)")
_IN_LINE: Final = text(f"{_LIMITS}, pg_advisory_xact_lock(:line), pg_advisory_xact_lock(:key)")


def take_advisory_lock(connection: Connection, key: int, line: int) -> None:
    """Take a lock of PostgreSQL until the end of the transaction, and set its limits in the same round trip.

    Behind a pooler that shares connections, these override any former settings of a connection. PostgreSQL
    gives a lock in the order of the requests. So all without priority first wait in a line of their own, and
    only the first of the line waits for the lock itself.

    :param line: the lock of that line; it is held as long.

    :raises OperationalError: it was not granted in time.
    """
    timeouts = timeouts_of(connection)
    # The wait for the lock is part of the first statement, which the session's own limit bounds.
    statement = timeouts.statement and timeouts.statement + timeouts.lock
    limits = {"lock": _milliseconds(timeouts.lock), "statement": _milliseconds(statement)}
    if timeouts.goes_first:
        connection.execute(_FIRST, limits | {"key": key})
    else:
        connection.execute(_IN_LINE, limits | {"key": key, "line": line})


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))


class _Budget:
    __slots__ = ("left",)

    def __init__(self, left: float) -> None:
        self.left = left

    def spend(self, seconds: float) -> None:
        self.left = max(0.0, self.left - seconds)


_BUDGET: Final[ContextVar[_Budget | None]] = ContextVar("budget", default=None)
"""Of this thread or greenlet; None where its work has no total limit."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the waits in the block to so long in all, or to what an outer limit leaves, if less."""
    around = _BUDGET.get()
    most = seconds if around is None else min(seconds, around.left)
    budget = _Budget(most)
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)
        if around is not None:
            around.spend(most - budget.left)


@contextmanager
def without_limit() -> Iterator[None]:
    """Ignore the limit of all steps together in the block: for what has to be done in any case."""
    token = _BUDGET.set(None)
    try:
        yield
    finally:
        _BUDGET.reset(token)


class Waiting:
    """One wait: ``with Waiting(most) as seconds``. The seconds may be 0; None is for ever."""

    __slots__ = ("_began", "_budget", "_most")

    def __init__(self, most: float | None = None) -> None:
        """
        :param most: the limit of this wait itself; None for none.
        """
        self._most = most
        self._budget = _BUDGET.get()
        self._began = 0.0

    def __enter__(self) -> float | None:
        if self._budget is None:
            return self._most
        self._began = monotonic()
        return self._budget.left if self._most is None else min(self._budget.left, self._most)

    def __exit__(self, *_: object) -> None:
        if self._budget is not None:
            self._budget.spend(monotonic() - self._began)


class LateAnswer(Exception):
    """PostgreSQL did not answer in time."""


class Answers:
    """When the servers of some engines last answered anything to this process."""

    def __init__(self) -> None:
        self.last_at = float("-inf")
        """In monotonic seconds."""

    def came_within(self, seconds: float) -> bool:
        return monotonic() - self.last_at < seconds


def is_late(error: SQLAlchemyError) -> bool:
    """Whether the only fault is that the database did not answer in time, or had no connection free."""
    return isinstance(error, PoolTimeout) or isinstance(getattr(error, "orig", None), LateAnswer)
