"""The backfills that there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from app.queries.feed.facts import load_network_facts
from app.queries.feed.retractions import targets_are_noted
from app.queries.verifying import IS_UNLISTED, IS_UNSETTLED, next_incomplete
from app.services.feed.grown import refuse_grown
from app.services.feed.log import note_every_target
from app.services.feed.projection import refold
from app.services.webhooks.outbox import tell_nothing


@dataclass(frozen=True, slots=True)
class Range:
    """What was looked at in one transaction."""

    last: bytes
    """The greatest key of it."""
    looked_at: int
    changed: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """Something to do for every row of a table, in the order of its key. To do it again changes nothing."""

    name: str
    about: str
    fill: Callable[[Connection, bytes, int, datetime], Range | None]
    """Fills the rows after a key, at most so many, at a time that is now; None when there are none."""


def list_transfers(connection: Connection, after: bytes, rows: int, now: datetime) -> Range | None:
    """Fold those transfers anew that code from before revision 0017 wrote while that was running."""
    return _fold(connection, next_incomplete(connection, after, rows, IS_UNLISTED), now)


def settle_transfers(connection: Connection, after: bytes, rows: int, now: datetime) -> Range | None:
    """Fold those transfers anew whose end was written by code from before revision 0042."""
    return _fold(connection, next_incomplete(connection, after, rows, IS_UNSETTLED), now)


def _fold(connection: Connection, found: Sequence[tuple[bytes, bool]], now: datetime) -> Range | None:
    refuse_grown(connection)
    if not found:
        return None
    missing = [transfer_id for transfer_id, is_missing in found if is_missing]
    if missing:
        tell_nothing(connection)
        refold(connection, missing, load_network_facts(connection), now)
    return Range(found[-1][0], len(found), len(missing))


def note_retractions(connection: Connection, after: bytes, _rows: int, _now: datetime) -> Range | None:
    """Note what retractions from before revision 0041 name; in one step, for they are few and small."""
    if after:
        return None
    if targets_are_noted(connection):
        return Range(_DONE, 0, 0)
    noted = note_every_target(connection)
    return Range(_DONE, noted, noted)


_DONE: Final = b"all"

KNOWN: Final = (
    Backfill("listed-transfers", "transfers that are in no list, since an upgrade over 0017", list_transfers),
    Backfill("retraction-targets", "what retractions from before 0041 name", note_retractions),
    Backfill("settled-transfers", "the blocks of ends, since an upgrade over 0042", settle_transfers),
)
"""In the order in which they run."""
