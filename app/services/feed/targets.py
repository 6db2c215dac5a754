"""Noting what the retractions in the log name, so that those of one transfer are found among all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, delete, insert

from app.domain.transfer.events import EventsRetracted
from app.domain.transfer.judge import LogEntry
from app.domain.transfer.standing import Logged, Retraction
from app.models.events import RetractionTarget
from app.queries.feed.retractions import every_retraction, named_by, targets_are_noted

CHUNK: Final = 1_000


def retractions_among(entries: Iterable[LogEntry]) -> list[Logged[EventsRetracted]]:
    """Those of the entries that retract anything."""
    return [
        Logged(entry.seq, event) for entry in entries if isinstance(event := entry.event, EventsRetracted)
    ]


def note_targets(connection: Connection, entries: Iterable[LogEntry]) -> None:
    """Note what those of the entries name that are retractions. They are in the log already."""
    retractions = retractions_among(entries)
    if not retractions:
        return
    if targets_are_noted(connection):
        _insert(connection, named_by(connection, retractions))
    else:
        note_every_target(connection)


def note_every_target(connection: Connection) -> int:
    """Note anew what every retraction in the log names; how many there are."""
    retractions = every_retraction(connection)
    connection.execute(delete(RetractionTarget))
    _insert(connection, retractions)
    return len(retractions)


def _insert(connection: Connection, retractions: Iterable[Retraction]) -> None:
    rows = [
        {"subject": key.subject, "event_id": key.id, "seq": each.seq}
        for each in retractions
        for key in sorted(set(each.targets))
    ]
    for start in range(0, len(rows), CHUNK):
        connection.execute(insert(RetractionTarget), rows[start : start + CHUNK])
