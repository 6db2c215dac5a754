"""Connections to PostgreSQL that do not wait for ever: a server that hangs does not enforce its own limits.

No state may be left on a connection through a pooler that lends it for one transaction: the next statement
may use another one, and another client may get what was left (docs/decisions/0033-behind-a-pooler.md).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg import OperationalError, waiting
from psycopg.errors import _WaitTimeout
from sqlalchemy import Connection, Engine, ExceptionContext, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.cooperation import given_up_after, served_by_greenlets, wait_for_file
from app.db.timeouts import Waiting, set_transaction_limits, timeouts_of

T = TypeVar("T")

CONNECT_SECONDS: Final = 2
"""How long public answers wait for a server that accepts a connection but sends nothing. It is the least that
the driver allows."""

_CONNECT: Final[dict[str, Any]] = {
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 30,  # seconds of silence, after which the system checks whether the server is there
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds; an unplugged machine acknowledges nothing
}
"""How long to wait for a server that does not answer at all; the URL may override this."""


class NoAnswer(OperationalError):
    """The server did not answer in time; its connection is closed."""


class Answers:
    """When the servers of some engines last answered anything to this process."""

    def __init__(self) -> None:
        self.last_at = float("-inf")
        """In monotonic seconds."""

    def came_within(self, seconds: float) -> bool:
        """Whether there was an answer in the last so many seconds."""
        return monotonic() - self.last_at < seconds


class AnsweringConnection(psycopg.Connection[Any]):
    """A connection that waits for an answer within its engine's timeouts, and is then closed."""

    answers: Answers | None = None
    seconds: Callable[[], float | None] = staticmethod(lambda: None)
    """How long to wait for the answer to one statement; None for ever."""

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait as the base class does, but only until the deadline.

        :raises NoAnswer: the server did not answer in time.
        :raises OperationalError: the connection was lost.
        """
        try:
            with Waiting(self.seconds()) as seconds:
                if seconds == 0:
                    raise _WaitTimeout("no time is left to wait for an answer")
                kwargs.setdefault("timeout", seconds)
                answer = super().wait(gen, *args, **kwargs)
        except _WaitTimeout as late:
            self.pgconn.finish()  # or the late answer would be taken for the next statement's
            raise NoAnswer(*late.args) from None
        if self.answers is not None:
            self.answers.last_at = monotonic()
        return answer


def wait(gen: Any, fileno: int, interval: float = 0.0, timeout: float | None = None) -> Any:
    """Run one of psycopg's generators to its end, and let others run while it waits.

    psycopg's own functions go through a patched ``poll``, wake up ten times a second for signals that
    greenlets do not need, and cost 60 µs more a statement.

    :param fileno: the connection's socket.
    :param timeout: seconds after which to give up.
    :raises OperationalError: it took longer than ``timeout``.
    """
    until = None if timeout is None else monotonic() + timeout
    try:
        events = next(gen)
        while True:
            left = None if until is None else until - monotonic()
            wait_for_file(fileno, events, left, _WaitTimeout("wait timeout expired"))
            # Reports all that was waited for as ready. Where only one of two is, psycopg finds that the other
            # is not.
            events = gen.send(events)
    except StopIteration as ended:
        return ended.value


def wait_by_greenlets() -> None:
    """Make psycopg wait in this way, where greenlets serve."""
    if served_by_greenlets():
        waiting.wait = wait


def is_late(error: SQLAlchemyError) -> bool:
    """Whether the database only did not answer in time, or had no connection free."""
    return isinstance(error, PoolTimeout) or isinstance(getattr(error, "orig", None), NoAnswer)


def wait_for_answers(engine: Engine, answers: Answers | None) -> None:
    """Set the deadline of an engine's connections. Call once per engine, after it has its timeouts.

    :param answers: where to note that the server has answered.
    """

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: Any, _record: Any, _args: Any, params: dict[str, Any]) -> Any:
        most = {"connect_timeout": CONNECT_SECONDS} if timeouts_of(engine).within else {}
        late = OperationalError("the server accepted a connection and did not answer")
        with Waiting() as seconds, given_up_after(seconds, late):
            connection = AnsweringConnection.connect(**(_CONNECT | most | params))
        connection.answers = answers
        connection.seconds = lambda: timeouts_of(engine).answer
        return connection

    @event.listens_for(engine, "handle_error")
    def _spare_others(context: ExceptionContext) -> None:
        if isinstance(context.original_exception, NoAnswer):
            # One slow answer says nothing about the other connections of the pool.
            context.invalidate_pool_on_disconnect = False


_OPTION: Final = "gateway_pooled"


def is_pooled(engine: Engine) -> bool:
    """Whether a pooler shares the engine's connections between transactions, by the settings."""
    return bool(engine.get_execution_options().get(_OPTION))


def prepare_pooled(engine: Engine, *, reader: bool) -> None:
    """Attach the behaviour behind a pooler to an engine of PostgreSQL.

    :param reader: its connections never open a transaction, so only the role can bound their statements.
    """
    engine.update_execution_options(**{_OPTION: True})

    @event.listens_for(engine, "connect")
    def _prepare_nothing(dbapi: Any, _record: Any) -> None:
        dbapi.prepare_threshold = None

    @event.listens_for(engine, "begin")
    def _set_limits(connection: Connection) -> None:
        if reader or connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            return
        set_transaction_limits(connection)
