"""Running backfills: each range is a transaction of its own, which notes how far it came."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, select

from app.db.engine import reading, writing
from app.db.upserts import upsert
from app.models.schema import BackfillProgress
from app.runtime.gateway import Gateway
from app.services.backfills.known import KNOWN, Backfill, Range

ROWS: Final = 500
"""Rows of a range: about a tenth of a second of the writers' turn where all of them change."""

PAUSE_SECONDS: Final = 0.05
"""Between two ranges, for reporters who wait for their turn."""


def progress_of(gateway: Gateway) -> dict[str, BackfillProgress]:
    """How far the backfills are that have begun, by name."""
    with reading(gateway.reads) as connection:
        return {row.name: BackfillProgress(**row) for row in connection.execute(_ALL).mappings()}


def run_backfill(
    gateway: Gateway,
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
    :param again: begin anew, also where it has ended.
    :param progress: told after each range.
    """
    while True:
        with writing(gateway.engine) as connection:
            done = _one_range(connection, backfill, rows, gateway.clock(), again=again)
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
