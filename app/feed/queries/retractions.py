"""Reads the retractions in the log, and the events that they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

from sqlalchemy import ColumnElement, Connection, Row, func, select

from app.db.types import is_one_of
from app.feed.queries.log import first_acceptances
from app.transfers.codec import MOST_IN_STATEMENT, decode_event, with_keys
from app.transfers.events import EventsRetracted
from app.transfers.models import Event, RetractedEvent, RetractionTarget
from app.transfers.reorganisations import Logged, Retraction
from app.transfers.subjects import OPERATORS, EventKey

_COVERED = select(
    select(func.max(RetractionTarget.seq)).scalar_subquery(),
    select(func.max(RetractedEvent.seq)).scalar_subquery(),
)


def targets_are_noted(connection: Connection) -> bool:
    """Whether ``retraction_targets`` has all that the retractions in the log name. Two index reads.

    Code from before the table, which may still run, does not write it. The newest retraction
    is always canonical.
    """
    noted, newest = connection.execute(_COVERED).one()
    return (noted or 0) >= (newest or 0)


def every_retraction(connection: Connection) -> list[Retraction]:
    """All retractions in the log, canonical or not, with what each names."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body).where(
            Event.chain_id.is_(None), Event.type == EventsRetracted.type
        )
    )
    return named_by(
        connection,
        [
            Logged(row.seq, cast("EventsRetracted", decode_event(row.event_id, row.type, row.body)))
            for row in rows
        ],
    )


def named_by(connection: Connection, logged: Collection[Logged[EventsRetracted]]) -> list[Retraction]:
    """The retractions among entries of the log, with the events that they name."""
    unsaid = {target for each in logged if each.event.subjects is None for target in each.event.targets}
    accepted = first_acceptances(connection, unsaid) if unsaid else {}
    return [Retraction(each.seq, each.event.key, _targets(each, accepted)) for each in logged]


def _targets(
    logged: Logged[EventsRetracted], accepted: Mapping[str, Mapping[EventKey, int]]
) -> Collection[EventKey]:
    """The targets of a retraction. Without subjects it names all earlier events with their ids."""
    targets, subjects = logged.event.targets, logged.event.subjects
    if subjects is not None:
        return [EventKey(*key) for key in zip(subjects, targets, strict=True)]
    return [
        key for target in targets for key, first in accepted.get(target, {}).items() if first < logged.seq
    ]


def retractions_naming(
    connection: Connection, keys: Iterable[EventKey], subjects: Collection[str] = ()
) -> list[Retraction]:
    """The retractions that name these events or any of these subjects, those that name these, and so on.

    Canonical or not, in the order of the log, each with the targets by which it was found. Other targets
    are not read.
    """
    if not targets_are_noted(connection):
        return every_retraction(connection)
    found: dict[int, tuple[EventKey, set[EventKey]]] = {}
    conditions: list[ColumnElement[bool]] = [*_naming(connection, keys)]
    if subjects:
        conditions.append(is_one_of(connection, RetractionTarget.subject, subjects))
    searched: set[EventKey] = set()
    while conditions:
        for row in _rows(connection, conditions):
            known = found.setdefault(row.seq, (EventKey(OPERATORS, row.retraction_id), set()))
            known[1].add(EventKey(row.subject, row.event_id))
        new = {key for key, _ in found.values()} - searched
        searched |= new
        conditions = [*_naming(connection, new)]
    return [Retraction(seq, *found[seq]) for seq in sorted(found)]


def _naming(connection: Connection, keys: Iterable[EventKey]) -> Iterator[ColumnElement[bool]]:
    return with_keys(connection, RetractionTarget.event_id, RetractionTarget.subject, keys)


def _rows(
    connection: Connection, conditions: Iterable[ColumnElement[bool]]
) -> Iterator[Row[int, str, str, str]]:
    table = RetractionTarget
    query = select(table.seq, table.subject, table.event_id, Event.event_id.label("retraction_id")).join(
        Event, Event.seq == table.seq
    )
    for condition in conditions:
        yield from connection.execute(query.where(condition))


def affected_by(connection: Connection, keys: Iterable[EventKey]) -> set[EventKey]:
    """These events and, where they are retractions, the events that those name, and so on: all that these
    events may have made canonical, or no longer so."""
    affected: set[EventKey] = set()
    new = set(keys)
    while new:
        affected |= new
        new = _named_by_keys(connection, sorted(key.id for key in new if key.subject == OPERATORS)) - affected
    return affected


def _named_by_keys(connection: Connection, retraction_ids: Sequence[str]) -> set[EventKey]:
    found: set[EventKey] = set()
    for start in range(0, len(retraction_ids), MOST_IN_STATEMENT):
        of_ids = is_one_of(connection, Event.event_id, retraction_ids[start : start + MOST_IN_STATEMENT])
        rows = connection.execute(
            select(RetractionTarget.subject, RetractionTarget.event_id)
            .join(Event, Event.seq == RetractionTarget.seq)
            .where(of_ids, Event.subject == OPERATORS)
        )
        found |= {EventKey(*row) for row in rows}
    return found


def every_target(connection: Connection) -> dict[int, set[EventKey]]:
    """By position in the log the stored targets of each retraction."""
    table, found = RetractionTarget, defaultdict[int, set[EventKey]](set)
    for row in connection.execute(select(table.seq, table.subject, table.event_id)):
        found[row.seq].add(EventKey(row.subject, row.event_id))
    return found
