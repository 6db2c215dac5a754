"""Connections to a streaming replica, with a deadline for every answer."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final, TypeVar

from psycopg import Connection, OperationalError
from psycopg.pq import TransactionStatus
from sqlalchemy import Engine, event

T = TypeVar("T")

DEADLINE_SECONDS: Final = 2.0
"""How long a statement on the replica may take before the primary is asked instead. Answers take
milliseconds."""

_CONNECT_ARGS: Final[dict[str, Any]] = {
    "connect_timeout": 2,  # seconds; less means the same
    "tcp_user_timeout": 2000,  # milliseconds; an unplugged machine acknowledges nothing
}


class DeadlineConnection(Connection[Any]):
    """A connection that waits for the server for ``DEADLINE_SECONDS`` and is closed after that.

    The client measures the time: a server that hangs does not enforce ``statement_timeout``.
    """

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait as the base class does, but only until the deadline.

        :raises OperationalError: the server did not answer in time, or the connection was lost.
        """
        kwargs.setdefault("timeout", DEADLINE_SECONDS)
        try:
            return super().wait(gen, *args, **kwargs)
        except OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.pgconn.finish()  # or the late answer would be taken for the next statement's
            raise


def prepare_replica(engine: Engine) -> None:
    """Give the connections of a replica's engine their deadline. Call once per engine."""

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: Any, _record: Any, _args: Any, params: dict[str, Any]) -> Any:
        return DeadlineConnection.connect(**(_CONNECT_ARGS | params))
