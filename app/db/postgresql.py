"""Connections to PostgreSQL that do not wait for ever: a server that hangs does not enforce its own limits.

Only imported where there is one: its driver takes a fifteenth of a start.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from time import monotonic
from traceback import clear_frames
from typing import Any, Final, TypeVar

import psycopg
from psycopg import OperationalError
from psycopg.pq import TransactionStatus
from sqlalchemy import Engine, ExceptionContext, event

from app.cooperation import given_up_after
from app.db.servers import OneServer
from app.db.timeouts import Answers, LateAnswer, Waiting, timeouts_of, without_limit

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


class NoAnswer(LateAnswer, OperationalError):
    """The server did not answer in time; its connection is closed."""


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
        if kwargs.get("timeout") is not None:
            return super().wait(gen, *args, **kwargs)
        try:
            with Waiting(self.seconds()) as seconds:
                answer = super().wait(gen, *args, **kwargs | {"timeout": seconds})
        except OperationalError as error:
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise  # the server's own error, or the connection is lost
            self.pgconn.finish()  # or the late answer would be taken for the next statement's
            raise NoAnswer(*error.args) from None
        if self.answers is not None:
            self.answers.last_at = monotonic()
        return answer

    def set_autocommit(self, value: bool) -> None:
        """Needs no answer. SQLAlchemy calls it when a connection is given back, which must not fail where no
        time is left: the pool would lose a place for ever.
        """
        with without_limit():
            super().set_autocommit(value)

    def set_isolation_level(self, value: psycopg.IsolationLevel | None) -> None:
        with without_limit():
            super().set_isolation_level(value)


def wait_for_answers(engine: Engine, answers: Answers | None, server: OneServer) -> None:
    """Set the deadline of an engine's connections. Call once per engine, after it has its timeouts.

    :param answers: where to note that the server has answered.
    :param server: which the connections lead to.
    """

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: Any, _record: Any, _args: Any, params: dict[str, Any]) -> Any:
        most = {"connect_timeout": CONNECT_SECONDS} if timeouts_of(engine).within else {}
        late = OperationalError("the server accepted a connection and did not answer")
        try:
            with Waiting() as seconds, given_up_after(seconds, late):
                connection = AnsweringConnection.connect(**(_CONNECT | most | server.preferred(params)))
        except OperationalError as error:
            # They hold an attempt that took too long. A server that can be reached again would wait for its
            # socket: for a minute, before it can shut down.
            clear_frames(error.__traceback__)
            raise
        server.opened(connection, params)
        connection.answers = answers
        connection.seconds = lambda: timeouts_of(engine).answer
        return connection

    @event.listens_for(engine, "handle_error")
    def _spare_others(context: ExceptionContext) -> None:
        if isinstance(context.original_exception, NoAnswer):
            # One slow answer says nothing about the other connections of the pool.
            context.invalidate_pool_on_disconnect = False
