"""Filling what migrations add, a range of keys at a time, from where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, delete, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import BackfillProgress
from app.db.upserts import upsert
from app.feed.services.log import refuse_grown


class Range(Struct, frozen=True):
    """The rows that one transaction has processed.

    :param last: the greatest key of it.
    """

    last: bytes
    looked_at: int
    changed: int


class Backfill(Struct, frozen=True):
    """Something to do for every row of a table, in the order of its key. To do it again changes nothing.

    :param fill: fills the rows after a key, at most so many, at a time that is now; None when there are none.
    """

    name: str
    about: str
    fill: Callable[[Connection, bytes, int, datetime], Range | None]


KNOWN: tuple[Backfill, ...] = ()
"""In the order in which they run. The schema of 1.0.0 needs none."""

ROWS: Final = 500
"""Rows of a range: about a tenth of a second of the writers' turn where all of them change."""

PAUSE_SECONDS: Final = 0.05
"""Between two ranges, for reporters who wait for their turn."""


def progress_of(database: Database) -> dict[str, BackfillProgress]:
    """The progress of the backfills that have begun, by name."""
    with reading(database.reads) as connection:
        return {row.name: BackfillProgress(**row) for row in connection.execute(_ALL).mappings()}


def reopen(database: Database) -> None:
    """Mark every backfill as not done: an older version takes over, which does not write what they fill."""
    with writing(database.engine) as connection:
        connection.execute(delete(BackfillProgress))


def run_backfill(
    database: Database,
    backfill: Backfill,
    *,
    rows: int = ROWS,
    pause_seconds: float = PAUSE_SECONDS,
    again: bool = False,
    progress: Callable[[BackfillProgress], None] = lambda _progress: None,
    sleep: Callable[[float], None] = time.sleep,
) -> BackfillProgress:
    """Go on where an earlier run stopped, however it was ended, until no row is left.

    Two runs at once do the same work in turns, which is slower but harmless.

    :param rows: of a range.
    :param pause_seconds: between two ranges.
    :param again: start from the beginning, even where it has ended.
    :param progress: called after each range.
    """
    while True:
        with writing(database.engine) as connection:
            done = _one_range(connection, backfill, rows, database.clock(), again=again)
        again = False
        progress(done)
        if done.ended_at is not None:
            return done
        sleep(pause_seconds)


def known_backfills() -> Sequence[Backfill]:
    return KNOWN


_ALL: Final = select(*BackfillProgress.__table__.columns)


def _one_range(
    connection: Connection, backfill: Backfill, rows: int, now: datetime, *, again: bool
) -> BackfillProgress:
    found = connection.execute(_ALL.where(BackfillProgress.name == backfill.name)).mappings().first()
    nothing = {"done_to": b"", "looked_at": 0, "changed": 0, "ended_at": None}
    before: dict[str, Any] = dict(found) if found and not again else nothing
    if before["ended_at"] is not None:
        return BackfillProgress(**before)
    refuse_grown(connection)
    filled = backfill.fill(connection, before["done_to"], rows, now)
    over = filled or Range(before["done_to"], 0, 0)
    after = {
        "name": backfill.name,
        "done_to": over.last,
        "looked_at": before["looked_at"] + over.looked_at,
        "changed": before["changed"] + over.changed,
        "moved_at": now,
        "ended_at": None if filled else now,
    }
    upsert(connection, BackfillProgress, [after])
    return BackfillProgress(**after)
