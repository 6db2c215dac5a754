"""Filling what migrations add, a range of keys at a time, from where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, delete, false, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import BackfillProgress
from app.db.upserts import upsert
from app.feed.projection.journal import begin_now, catch_up
from app.feed.projection.transfers import project_again, publish_nothing
from app.feed.queries.log import targets_are_noted
from app.feed.queries.transfers import load_states
from app.feed.queries.verifying import IS_UNCOUNTED, IS_UNLISTED, IS_UNSETTLED, next_incomplete
from app.feed.services.log import note_every_target, refuse_grown
from app.network.queries import load_network_facts


class Range(Struct, frozen=True):
    """What was looked at in one transaction."""

    last: bytes
    """The greatest key of it."""
    looked_at: int
    changed: int


class Backfill(Struct, frozen=True):
    """Something to do for every row of a table, in the order of its key. To do it again changes nothing."""

    name: str
    about: str
    fill: Callable[[Connection, bytes, int, datetime], Range | None]
    """Fills the rows after a key, at most so many, at a time that is now; None when there are none."""


def list_transfers(connection: Connection, after: bytes, rows: int, now: datetime) -> Range | None:
    """Project again the transfers that code from before revision 0017 wrote while that was running."""
    return _project(connection, next_incomplete(connection, after, rows, IS_UNLISTED), now)


def settle_transfers(connection: Connection, after: bytes, rows: int, now: datetime) -> Range | None:
    """Project again the transfers whose end was written by code from before revision 0042."""
    return _project(connection, next_incomplete(connection, after, rows, IS_UNSETTLED), now)


def count_withdraws(connection: Connection, after: bytes, rows: int, now: datetime) -> Range | None:
    """Project again refunds at status 9, which used up no withdraw id for code from before revision 0040."""
    return _project(connection, next_incomplete(connection, after, rows, IS_UNCOUNTED), now)


def _project(connection: Connection, found: Sequence[tuple[bytes, bool]], now: datetime) -> Range | None:
    refuse_grown(connection)
    if not found:
        return None
    missing = [transfer_id for transfer_id, is_missing in found if is_missing]
    if missing:
        publish_nothing(connection, now)
        project_again(connection, missing, load_network_facts(connection), now)
    return Range(found[-1][0], len(found), len(missing))


def record_statuses(connection: Connection, after: bytes, rows: int, now: datetime) -> Range | None:
    """Write what the journal of statuses lacks, which code from before revision 0043 changed while that was
    running. The journal begins now. Clients that reconnect from before it get each current status."""
    if not after:
        begin_now(connection, now)
    ids = [transfer_id for transfer_id, _ in next_incomplete(connection, after, rows, false())]
    if not ids:
        return None
    return Range(ids[-1], len(ids), catch_up(connection, ids, load_states(connection, ids), now))


def note_retractions(connection: Connection, after: bytes, _rows: int, _now: datetime) -> Range | None:
    """Note what retractions from before revision 0041 name; in one step, for they are few and small."""
    if after:
        return None
    if targets_are_noted(connection):
        return Range(_DONE, 0, 0)
    noted = note_every_target(connection)
    return Range(_DONE, noted, noted)


_DONE: Final = b"all"

RECORDED_STATUSES: Final = "recorded-statuses"

KNOWN: Final = (
    Backfill("listed-transfers", "transfers that are in no list, since an upgrade over 0017", list_transfers),
    Backfill("retraction-targets", "what retractions from before 0041 name", note_retractions),
    Backfill("settled-transfers", "the blocks of ends, since an upgrade over 0042", settle_transfers),
    Backfill("used-withdraw-ids", "withdraw ids of refunds, since an upgrade over 0040", count_withdraws),
    Backfill(RECORDED_STATUSES, "changes of statuses, since an upgrade over 0043", record_statuses),
)
"""In the order in which they run."""


ROWS: Final = 500
"""Rows of a range: about a tenth of a second of the writers' turn where all of them change."""

PAUSE_SECONDS: Final = 0.05
"""Between two ranges, for reporters who wait for their turn."""


def progress_of(database: Database) -> dict[str, BackfillProgress]:
    """How far the backfills are that have begun, by name."""
    with reading(database.reads) as connection:
        return {row.name: BackfillProgress(**row) for row in connection.execute(_ALL).mappings()}


def reopen(database: Database) -> None:
    """Let every backfill be to do again. An older version takes over, which does not write what they fill."""
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

    Two runs at once do the same work in turns, which is slower and nothing worse.

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
    """Those of this version, in the order in which they run."""
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
