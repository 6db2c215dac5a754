"""What migrations of large tables are made of, so that they stop nobody.

PostgreSQL takes every lock until the end of its transaction; so what takes long is outside of one,
or in a short one for each range of keys. SQLite has one writer and rolls back the whole upgrade: there it is
plain SQL.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from alembic import context, op
from alembic.util import CommandError

from app.models.connections.patience import MIGRATION
from app.models.migrating.turn import TURN, Turn

RANGE_SECONDS: Final = 0.02
"""How long a range shall take: whoever wants its rows, or its processor, waits that much longer."""

FEWEST_ROWS: Final = 100
MOST_ROWS: Final = 5_000
"""Of a range. The first has the fewest, the next at most twice as many as the one before."""

PAUSE_SECONDS: Final = 0.02
"""Between two ranges, at least."""

PERCENT: Final = "percent"
"""How much of the time ranges take at most, as an argument of the upgrade (``-x percent=5``)."""

HALF: Final = 50
"""That where nothing else is asked for: a pause as long as each range."""

_NO_TURN: Final = Turn()
_ONE_TO_HUNDRED: Final = re.compile(r"[1-9][0-9]?|100", re.ASCII)
_INVALID = sa.text("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid")


def is_postgresql() -> bool:
    """Which database this is for; also while SQL is only written out."""
    return op.get_context().dialect.name == "postgresql"


def is_offline() -> bool:
    """Whether SQL is only written out, so that nothing can be read."""
    return context.is_offline_mode()


@contextmanager
def without_transaction() -> Iterator[None]:
    """Commit what the migration has done, and run each statement by itself. Nothing changes on SQLite.

    A migration that fails afterwards is begun from its start: what stands before this must be repeatable.
    """
    if not is_postgresql():
        yield
        return
    _turn().keep()
    with op.get_context().autocommit_block():
        yield


def _turn() -> Turn:
    """That of this upgrade; of none while SQL is only written out."""
    turn: Turn = op.get_context().opts.get(TURN, _NO_TURN)
    return turn


def create_index(name: str, table: str, columns: Sequence[Any], **options: Any) -> None:
    """Create an index while the table is read and written.

    What an attempt that was broken off left behind is removed first. The wait for others has no limit here:
    nobody waits behind it.
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
    """Add columns that a repeated migration may have added already. PostgreSQL writes no row for them."""
    for column in columns:
        op.add_column(table, column, if_not_exists=is_postgresql() or None)


def by_range(table: str, key: str, statement: str) -> None:
    """Run a statement for every range of keys, on PostgreSQL each in a transaction of its own.

    :param statement: may be repeated. It has ``{range}`` where its condition on the key goes.
    """
    if not is_postgresql() or is_offline():
        op.execute(sa.text(statement.format(range="1 = 1")))
        return
    with without_transaction():
        connection, pace, began = op.get_bind(), Pace(), time.monotonic()
        percent = op.get_context().opts.get(PERCENT, HALF)
        for condition, values in ranges(connection, table, key, pace):
            _turn().keep()
            connection.execute(sa.text(statement.format(range=condition)), values)
            took = time.monotonic() - began
            pace.follow(took)
            time.sleep(max(PAUSE_SECONDS, took * (100 - percent) / percent))
            began = time.monotonic()


def asked_percent(arguments: Mapping[str, str]) -> int:
    """How much of the time ranges take at most.

    :param arguments: of ``-x``, by their names.
    :raises CommandError: an argument is not known, or the number is not from 1 to 100.
    """
    for name, text in arguments.items():
        if name != PERCENT or not _ONE_TO_HUNDRED.fullmatch(text):
            raise CommandError(
                f"-x {name}={text}: the only argument is {PERCENT}=N, a whole number from 1 to 100: "
                "how much of the time the upgrade may work at rows"
            )
    return int(arguments.get(PERCENT, HALF))


@dataclass(slots=True)
class Pace:
    """How many rows the next range has."""

    rows: int = FEWEST_ROWS

    def follow(self, took: float) -> None:
        """Take as many as would have made the last range as long as one shall be.

        :param took: seconds that the last range took.
        """
        factor = min(2.0, RANGE_SECONDS / max(took, 1e-6))
        self.rows = max(FEWEST_ROWS, min(MOST_ROWS, round(self.rows * factor)))


def ranges(
    connection: sa.Connection, table: str, key: str, pace: Pace
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Conditions that divide a table by its key, with their values.

    Rows that come meanwhile are in one of them if their keys come after.

    :param pace: asked for each range.
    """
    # Not max(): PostgreSQL before 18 has none of bytes.
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


def refuse_rows_offline(*tables: str) -> bool:
    """Whether SQL is only written out. Then that SQL fails where a table has rows that only Python can move.

    :returns: True where the caller must not read.
    """
    if not is_offline():
        return False
    for table in tables if is_postgresql() else ():
        instead = f"rows of {table} are moved by Python: run flask --app wsgi db upgrade instead"
        found = f"EXISTS (SELECT 1 FROM {table})"  # noqa: S608  names in migrations
        op.execute(f"DO $$ BEGIN IF {found} THEN RAISE EXCEPTION '{instead}'; END IF; END $$")
    return True
