"""One upgrade of a database at a time, and what to do when the database does not let it begin."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

_KEY: Final = 0x6D696772  # "migr"
_LOOK_AGAIN_SECONDS: Final = 0.5
_SAY_AGAIN_SECONDS: Final = 30.0

ATTEMPTS: Final = 20
"""How often a migration asks for the locks that it needs."""

_LONGEST_PAUSE: Final = 10.0

_LOCK_NOT_AVAILABLE: Final = "55P03"
_DEADLOCK: Final = "40P01"
_BUSY: Final = 5  # SQLITE_BUSY

TURN: Final = "turn"
"""Of what Alembic's context is told: the turn of the upgrade that runs."""

_STAY_IDLE: Final = text("SET LOCAL idle_in_transaction_session_timeout = 0")
"""PostgreSQL keeps the view of a ``SELECT`` until the next statement, and this one needs none."""

Say = Callable[[str], None]


class Turn:
    """Nobody else upgrades this database while the connection that took the lock is there."""

    def __init__(self, connection: Connection | None = None) -> None:
        """
        :param connection: None on SQLite, whose migrations are one transaction of the only writer.
        """
        self._connection = connection

    def keep(self) -> None:
        """Make sure that it still is our turn: to be called before what is done is committed.

        :raises CommandError: that connection is gone, and another upgrade may have begun.
        """
        if self._connection is None:
            return
        try:
            self._connection.execute(_STAY_IDLE)
        except DBAPIError as error:
            cause = str(error.orig).strip().partition("\n")[0]
            raise CommandError(
                f"the connection that kept other upgrades out is gone ({cause}); what is finished is kept: "
                "run the upgrade again, it goes on from there"
            ) from None


@contextmanager
def taking_turns(engine: Engine, say: Say, sleep: Callable[[float], None] = time.sleep) -> Iterator[Turn]:
    """Hold PostgreSQL's advisory lock for migrations, after whoever holds it now.

    It is asked for again and again: a statement that waits for it would keep an old view of the database
    open, and the other's ``CREATE INDEX CONCURRENTLY`` would wait for that for ever. SQLite needs none.

    :param say: told what is waited for.
    """
    if engine.dialect.name != "postgresql":
        yield Turn()
        return
    with engine.connect() as connection:
        waited = 0.0
        while not _taken(connection):
            connection.rollback()
            if waited % _SAY_AGAIN_SECONDS == 0:
                say("another upgrade of this database is running; waiting until it has ended")
            sleep(_LOOK_AGAIN_SECONDS)
            waited += _LOOK_AGAIN_SECONDS
        yield Turn(connection)
        connection.rollback()


def _taken(connection: Connection) -> bool:
    """Take the lock until the transaction ends, which may be hours idle; behind a pooler, too."""
    taken = connection.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _KEY})
    connection.execute(_STAY_IDLE)
    return bool(taken)


def again_while_locked(
    attempt: Callable[[], None],
    say: Say,
    *,
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Attempt until the locks are granted.

    :param attempt: leaves nothing half done when it raises, and goes on where it was when called again.
    :raises OperationalError: any other error at once; that a lock was not granted after the last attempt.
    """
    for number in range(1, attempts + 1):
        try:
            attempt()
            return
        except OperationalError as error:
            if not _is_lock(error) or number == attempts:
                raise
            pause = min(0.5 * number, _LONGEST_PAUSE)
            cause = str(error.orig).strip().splitlines()[0]
            say(
                f"a table is in use ({cause}); the migration was rolled back and begins again in"
                f" {pause:g} s (attempt {number} of {attempts})"
            )
            sleep(pause)


def _is_lock(error: OperationalError) -> bool:
    """Whether somebody else's lock was the reason."""
    origin = error.orig
    if isinstance(origin, sqlite3.OperationalError):
        return origin.sqlite_errorcode & 0xFF == _BUSY
    return getattr(origin, "sqlstate", None) in (_LOCK_NOT_AVAILABLE, _DEADLOCK)
