"""Helpers of migrations: one upgrade at a time, and changes while the tables are read and written.

A lock is waited for only briefly and then requested again. Indexes are made without blocking readers and
writers, and many rows are changed by ranges (docs/decisions/0050-range-of-schemas.md).
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa
from alembic import context, op
from alembic.util import CommandError
from msgspec import Struct
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from app.db.timeouts import MIGRATION

_KEY: Final = 0x6D696772  # "migr"
_LOOK_AGAIN_SECONDS: Final = 0.5
_SAY_AGAIN_SECONDS: Final = 30.0

ATTEMPTS: Final = 20
"""How often a migration requests the locks that it needs."""

_LONGEST_PAUSE: Final = 10.0

_LOCK_NOT_AVAILABLE: Final = "55P03"
_DEADLOCK: Final = "40P01"
_BUSY: Final = 5  # SQLITE_BUSY

TURN: Final = "turn"
"""The key in Alembic's context of the running upgrade's turn."""

_STAY_IDLE: Final = text("SET LOCAL idle_in_transaction_session_timeout = 0")
"""PostgreSQL holds the snapshot of a ``SELECT`` until the next statement, and this one needs none."""

Say = Callable[[str], None]


class Turn:
    """The right to upgrade this database. It lasts as long as the connection that took the lock."""

    def __init__(self, connection: Connection | None = None) -> None:
        """
        :param connection: None on SQLite, whose migrations are one transaction of the only writer.
        """
        self._connection = connection

    def confirm(self) -> None:
        """Make sure that it is still our turn. To be called before a commit.

        :raises CommandError: that connection is lost, and another upgrade may have begun.
        """
        if self._connection is None:
            return
        try:
            self._connection.execute(_STAY_IDLE)
        except DBAPIError as error:
            cause = str(error.orig).strip().partition("\n")[0]
            raise CommandError(
                f"the connection that locked out other upgrades is gone ({cause}): "
                "run the upgrade again, it continues after the last finished step"
            ) from None


@contextmanager
def taking_turns(engine: Engine, say: Say, sleep: Callable[[float], None] = time.sleep) -> Iterator[Turn]:
    """Hold PostgreSQL's advisory lock for migrations, after any other holder.

    It is requested again and again: a statement that waits for it would hold an old snapshot open, and the
    other's ``CREATE INDEX CONCURRENTLY`` would wait for that for ever. SQLite needs none.

    :param say: called with what is waited for.
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
    """Take the lock until the transaction ends, which may idle for hours; also behind a pooler."""
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

    :param attempt: leaves nothing half done when it raises, and continues when called again.
    :raises OperationalError: any other error at once; a missing lock after the last attempt.
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
    origin = error.orig
    if isinstance(origin, sqlite3.OperationalError):
        return origin.sqlite_errorcode & 0xFF == _BUSY
    return getattr(origin, "sqlstate", None) in (_LOCK_NOT_AVAILABLE, _DEADLOCK)


RANGE_SECONDS: Final = 0.02
"""How long a range should take: others that need its rows, or its processor, wait that much longer."""

FEWEST_ROWS: Final = 100
MOST_ROWS: Final = 5_000
"""Of a range. The first has the fewest; each later one has at most twice as many as the one before."""

PAUSE_SECONDS: Final = 0.02
"""Between two ranges, at least."""

PERCENT: Final = "percent"
"""How much of the time ranges take at most: the name of the argument of the upgrade (``-x percent=5``)."""

HALF: Final = 50
"""The default: a pause as long as each range."""

_NO_TURN: Final = Turn()
_ONE_TO_HUNDRED: Final = re.compile(r"[1-9][0-9]?|100", re.ASCII)
_INVALID = sa.text("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid")


def is_postgresql() -> bool:
    """Whether the migration is for PostgreSQL, also in the offline mode that only writes out SQL."""
    return op.get_context().dialect.name == "postgresql"


def is_offline() -> bool:
    """Whether SQL is only written out, so that nothing can be read."""
    return context.is_offline_mode()


@contextmanager
def without_transaction() -> Iterator[None]:
    """Commit what the migration has done, and run each statement without a transaction. Changes nothing on
    SQLite.

    A migration that fails afterwards starts again from its beginning: what is before this must be repeatable.
    """
    if not is_postgresql():
        yield
        return
    _turn().confirm()
    with op.get_context().autocommit_block():
        yield


def _turn() -> Turn:
    """The turn of this upgrade; of none while SQL is only written out."""
    turn: Turn = op.get_context().opts.get(TURN, _NO_TURN)
    return turn


def create_index(name: str, table: str, columns: Sequence[Any], **options: Any) -> None:
    """Create an index while the table is read and written.

    The remains of an interrupted attempt are removed first. The wait for other transactions has no limit
    here, as no statement waits behind it.
    """
    if not is_postgresql():
        op.create_index(name, table, list(columns), **options)
        return
    with without_transaction(), _waiting_for_others():
        if not is_offline() and op.get_bind().scalar(_INVALID, {"name": name}):
            op.drop_index(name, table, postgresql_concurrently=True, if_exists=True)
        op.create_index(
            name, table, list(columns), postgresql_concurrently=True, if_not_exists=True, **options
        )


def drop_index(name: str, table: str) -> None:
    """Drop an index while the table is read and written."""
    if not is_postgresql():
        op.drop_index(name, table)
        return
    with without_transaction(), _waiting_for_others():
        op.drop_index(name, table, postgresql_concurrently=True, if_exists=True)


@contextmanager
def _waiting_for_others() -> Iterator[None]:
    limit = f"{round(MIGRATION.lock * 1000)}ms"
    op.execute("SET lock_timeout = 0")
    yield
    op.execute(f"SET lock_timeout = '{limit}'")


def add_columns(table: str, *columns: sa.Column[Any]) -> None:
    """Add columns, unless a repeated migration has them already. PostgreSQL rewrites no row for them."""
    for column in columns:
        op.add_column(table, column, if_not_exists=is_postgresql() or None)


def by_range(table: str, key: str, statement: str) -> None:
    """Run a statement for every range of keys, on PostgreSQL each in its own transaction.

    :param statement: may be repeated. It has ``{range}`` as the place of its condition on the key.
    """
    if not is_postgresql() or is_offline():
        op.execute(sa.text(statement.format(range="1 = 1")))
        return
    with without_transaction():
        connection, pace, began = op.get_bind(), Pace(), time.monotonic()
        percent = op.get_context().opts.get(PERCENT, HALF)
        for condition, values in ranges(connection, table, key, pace):
            _turn().confirm()
            connection.execute(sa.text(statement.format(range=condition)), values)
            took = time.monotonic() - began
            pace.follow(took)
            time.sleep(max(PAUSE_SECONDS, took * (100 - percent) / percent))
            began = time.monotonic()


def requested_percent(arguments: Mapping[str, str]) -> int:
    """How much of the time ranges take at most.

    :param arguments: of ``-x``, by their names.
    :raises CommandError: an argument is not known, or the number is not from 1 to 100.
    """
    for name, given in arguments.items():
        if name != PERCENT or not _ONE_TO_HUNDRED.fullmatch(given):
            raise CommandError(
                f"-x {name}={given}: the only argument is {PERCENT}=N, a whole number from 1 to 100 "
                "such as 5: "
                "the share of the time in which the upgrade may change rows"
            )
    return int(arguments.get(PERCENT, HALF))


class Pace(Struct):
    """How many rows the next range has."""

    rows: int = FEWEST_ROWS

    def follow(self, took: float) -> None:
        """Set the number of rows that would have taken the last range the intended time.

        :param took: seconds that the last range took.
        """
        factor = min(2.0, RANGE_SECONDS / max(took, 1e-6))
        self.rows = max(FEWEST_ROWS, min(MOST_ROWS, round(self.rows * factor)))


def ranges(
    connection: sa.Connection, table: str, key: str, pace: Pace
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Conditions that divide a table by its key, with their values.

    Rows that are added meanwhile are in one of them if their keys are higher.

    :param pace: read for each range.
    """
    # Not max(): before version 18 PostgreSQL has none for bytes.
    end_of = (
        "SELECT k FROM (SELECT {key} AS k FROM {table} WHERE {above} ORDER BY {key} LIMIT {rows})"
        " AS next_rows ORDER BY k DESC LIMIT 1"
    )
    above, values = "1 = 1", dict[str, Any]()
    while True:
        question = end_of.format(key=key, table=table, above=above, rows=pace.rows)
        end = connection.scalar(sa.text(question), values)
        if end is None:
            return
        yield f"{above} AND {key} <= :last", {**values, "last": end}
        above, values = f"{key} > :after", {"after": end}
