"""Retracts events. A retraction is appended to the log, acts like a reorg, and can be retracted itself."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, insert

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange, Source
from app.audit.services import record
from app.credentials.rules.ingest_token import FROM_FILES
from app.db.database import Database
from app.db.engine import writing
from app.feed.projection.journal import note_cause
from app.feed.queries.log import (
    affected_by,
    every_retraction,
    first_acceptances,
    keys_reported,
    load_events,
    named_by,
    retractions_naming,
)
from app.feed.queries.pruned import last_pruned_of, load_positions, pruned_targets
from app.feed.services.ahead import project_around, settle
from app.feed.services.log import append, note_every_target, retractions_among
from app.transfers import models as log
from app.transfers.queries.logged import every_retracted_key, retracted_keys, with_keys
from app.transfers.rules.events.canonical import retracted_by
from app.transfers.rules.events.event_types import EventsRetracted
from app.transfers.rules.events.keys import EventKey, transfer_of_subject
from app.transfers.rules.validation import LogEntry

REPORTERS = {Source.CLI: FROM_FILES, Source.CONSOLE: "operator"}  # of a retraction
MOST_NAMED: Final = 5  # subjects in a complaint
CHUNK = 500  # events named by one retraction, so that an entry of the log stays readable


class NothingToRetract(ValueError):
    """No event matches the description; the message says which."""


def retract_ids(
    database: Database,
    audit_keys: AuditKeys,
    event_ids: Iterable[str],
    reason: str,
    *,
    actor: Actor,
    subject: str | None = None,
) -> list[str]:
    """Retract events by their ids (docs/interface/events.md#retractions).

    :param actor: who is recorded. The retraction's reporter follows from the actor's source.
    :param subject: what the events are about; needed where an id names several events.
    :returns: the ids of the retractions appended, by which they can be retracted.
    :raises NothingToRetract: when an id is not in the log, names several events, or was pruned; then
        nothing is retracted.
    """
    with writing(database.engine) as connection:
        settle(connection, database.clock())
        wanted = list(dict.fromkeys(event_ids))
        known = first_acceptances(connection, wanted)
        keys = [_only(event_id, list(known.get(event_id, ())), subject) for event_id in wanted]
        if pruned := pruned_targets(connection, ((subject, i) for i in wanted)):
            raise NothingToRetract(
                f"{min(pruned)!r} belongs to a pruned transfer and cannot be retracted; leave it out"
            )
        if missing := [i for i, key in zip(wanted, keys, strict=True) if key is None]:
            where = f" about {subject}" if subject else ""
            raise NothingToRetract(
                f"no event{where} has the id {missing[0]!r}; use one that events export shows"
            )
        return _retract(
            connection, database, audit_keys, [key for key in keys if key is not None], reason, actor
        )


def _only(event_id: str, known: Sequence[EventKey], subject: str | None) -> EventKey | None:
    meant = [key for key in known if subject in (None, key.subject)]
    if len(meant) > 1:
        some = ", ".join(sorted(key.subject for key in meant)[:MOST_NAMED])
        more = ", …" if len(meant) > MOST_NAMED else ""
        raise NothingToRetract(
            f"{event_id!r} is the id of {len(meant)} events, about {some}{more}: "
            "choose one with --transfer, --chain or --route"
        )
    return meant[0] if meant else None


def retract_reporter(
    database: Database, audit_keys: AuditKeys, reporter: str, since: datetime, reason: str, *, actor: Actor
) -> list[str]:
    """Retract all that a token reported since a time (of receipt).

    :raises NothingToRetract: it reported nothing since then, or some of it was pruned.
    """
    with writing(database.engine) as connection:
        settle(connection, database.clock())
        pruned = last_pruned_of(connection, reporter)
        if pruned is not None and pruned >= since:
            raise NothingToRetract(
                f"some events that {reporter!r} reported up to {pruned.isoformat()} were pruned and cannot "
                "be retracted: choose a later time, or retract events by their ids"
            )
        wanted = keys_reported(connection, reporter, since)
        if not wanted:
            raise NothingToRetract(
                f"{reporter!r} has reported nothing since {since.isoformat()}, or only under ids that "
                "reporters of other limits used, too: check the name and the time, or use --id"
            )
        return _retract(connection, database, audit_keys, wanted, reason, actor)


def _retract(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    keys: list[EventKey],
    reason: str,
    actor: Actor,
) -> list[str]:
    now = database.clock()
    changed: set[EventKey] = set()
    entries: list[LogEntry] = []
    for event in retractions_of(keys, reason, now):
        seq, reporter = load_positions(connection).last_seq + 1, REPORTERS[actor.source]
        entry = LogEntry(seq, 0, event, reporter=reporter)
        entries.append(entry)
        append(connection, [entry], now)
        note_cause(connection, entry.seq)
        changed |= project_retractions(connection, entry, now)
    if pruned := pruned_targets(connection, changed):
        raise NothingToRetract(
            f"this would change {min(pruned)!r}, which was pruned and cannot change any more; leave that out"
        )
    retractions = [entry.event.id for entry in entries]
    retracted = {
        "events": [key.id for key in keys],
        "subjects": [key.subject for key in keys],
        "retractions": retractions,
        "reason": reason,
    }
    _record(connection, database, audit_keys, actor, retracted)
    return retractions


def retractions_of(keys: Sequence[EventKey], reason: str, now: datetime) -> list[EventsRetracted]:
    events = []
    for start in range(0, len(keys), CHUNK):
        subjects, targets = zip(*keys[start : start + CHUNK], strict=True)
        events.append(
            EventsRetracted(
                id=f"retract-{uuid.uuid4()}", at=now, targets=targets, subjects=subjects, reason=reason
            )
        )
    return events


def _record(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    actor: Actor,
    retracted: Mapping[str, Any],
) -> None:
    event_ids = retracted["events"]
    subject = f"event {event_ids[0]}" if len(event_ids) == 1 else f"{len(event_ids)} events"
    record(
        connection,
        audit_keys,
        actor,
        "events.retract",
        subject,
        now=database.clock(),
        detail=f"retracted {subject}: {retracted['reason']}",
        changes=[AuditedChange(subject, None, retracted)],
    )


def project_retractions(connection: Connection, entry: LogEntry, now: datetime) -> set[EventKey]:
    """Project again every event that is retracted now and was not before, or the reverse.

    :param entry: the retraction that was just appended to the log. Of the others only those that name the
        same events are read.
    :returns: the keys of the events that were projected.
    """
    named = named_by(connection, retractions_among([entry]))
    affected = affected_by(connection, {target for each in named for target in each.targets})
    retracted = retracted_by(retractions_naming(connection, affected))
    wanted = {key: retracted[key] for key in affected & retracted.keys()}
    known = retracted_keys(connection, affected)
    changed = {key for key in affected if known.get(key) != wanted.get(key)}
    events = load_events(connection, sorted(changed))
    project_around(connection, events, lambda: write_retracted(connection, wanted, changed), now)
    return changed


def rebuild_retracted(connection: Connection) -> None:
    """Write again what retractions name and what canonical ones retract. Nothing is projected."""
    note_every_target(connection)
    wanted, known = retracted_by(every_retraction(connection)), every_retracted_key(connection)
    changed = {key for key in known.keys() | wanted.keys() if known.get(key) != wanted.get(key)}
    write_retracted(connection, wanted, changed)


def write_retracted(
    connection: Connection, wanted: Mapping[EventKey, int], changed: Collection[EventKey]
) -> None:
    """Write which of the changed events are retracted, with the retraction's position in the log."""
    table = log.RetractedEvent
    for of_keys in with_keys(connection, table.event_id, table.subject, sorted(changed)):
        connection.execute(delete(table).where(of_keys))
    rows = [
        {
            "event_id": key.id,
            "subject": key.subject,
            "transfer_id": transfer_of_subject(key.subject),
            "seq": wanted[key],
        }
        for key in sorted(wanted.keys() & changed)
    ]
    if rows:
        connection.execute(insert(table), rows)
