"""Where public answers are read from: a replica while there is a good one, else the primary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.models.engine import ask, reading, reading_consistently
from app.runtime.faults import is_unavailable
from app.runtime.replica import Replica
from app.tracing.spans import query

P = ParamSpec("P")
T = TypeVar("T")


class PublicReads:
    """Reads of public answers. One that fails on the replica is repeated on the primary at once.

    Only for what may be as old as ``REPLICA_MAX_LAG_SECONDS``: not for whom a token belongs to, what a
    reporter's cursor is, or the configuration (docs/decisions/0007-reads-from-a-replica.md).
    """

    def __init__(self, engine: Engine, reads: Engine, replica: Replica | None = None) -> None:
        """
        :param engine: the primary.
        :param reads: the primary, for single-statement reads.
        """
        self._engine = engine
        self._reads = reads
        self.replica = replica

    def ask(self, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What ``question(connection, …)`` answers; see ``app.models.engine.ask``."""
        replica = self.replica
        if replica is not None and replica.may_be_asked():
            try:
                with query(question), reading(replica.engine) as connection:
                    return question(connection, *args, **kwargs)
            except SQLAlchemyError as error:
                _note(replica, error)
        return ask(self._reads, question, *args, **kwargs)

    def ask_consistently(
        self, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As :meth:`ask`, for several statements that must see the database at one moment."""
        replica = self.replica
        if replica is not None and replica.may_be_asked():
            try:
                with query(question), reading_consistently(replica.engine) as connection:
                    return question(connection, *args, **kwargs)
            except SQLAlchemyError as error:
                _note(replica, error)
        with query(question), reading_consistently(self._engine) as connection:
            return question(connection, *args, **kwargs)


def _note(replica: Replica, error: SQLAlchemyError) -> None:
    """A replica that is in trouble is left out; a fault of the question will show on the primary."""
    if is_unavailable(error):
        replica.failed(error)
