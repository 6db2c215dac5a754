"""Reads the event log, its retractions and the events that they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, exists, func, or_, select, text
from sqlalchemy.orm import aliased

from app.db.types import MOST_IN_STATEMENT, is_one_of
from app.feed.models import GrownDatabase
from app.network.models import ReportedValidatorSet
from app.transfers import models as log
from app.transfers.models import RetractionTarget
from app.transfers.queries.logged import IS_WHOLE, with_keys
from app.transfers.rules.events.canonical import Retraction
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import (
    EVENT_CLASSES,
    BlockEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    ValidatorsUpdated,
)
from app.transfers.rules.events.keys import OPERATORS, EventKey, subject_of_chain
from app.transfers.rules.validation import LatestAcceptance
from app.values.identifiers import ChainId

PAGE: Final = 500

_AT_ONCE: Final = (ChainReorged.type, EventsRetracted.type)
"""Types that count whatever their time is (``canonical.is_ahead``)."""

_OF_TRANSFERS: Final = tuple(
    name for name, event_class in EVENT_CLASSES.items() if issubclass(event_class, BlockEvent)
)
"""Types of the events about transfers that a log may say."""

_IS_HEAD: Final = text("type = 'chain.head'")  # spelled like the partial index, so that it serves

RANGES_AT_ONCE: Final = 100  # of ids in one statement

_DUE: Final = select(log.EventAhead.seq).where(log.EventAhead.at <= bindparam("now"))
_NEWEST_RECEIPT: Final = select(log.Event.received_at).order_by(log.Event.seq.desc()).limit(1)


def latest_acceptances(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, LatestAcceptance]:
    """The latest acceptance of each of the keys that are in the log."""
    found: dict[EventKey, LatestAcceptance] = {}
    first: dict[EventKey, int] = {}
    for of_keys in with_keys(connection, log.Event.event_id, log.Event.subject, keys):
        rows = connection.execute(
            select(log.Event.event_id, log.Event.seq, log.Event.occurrence, log.Event.type, log.Event.body)
            .where(of_keys)
            .order_by(log.Event.seq)
        )
        for row in rows:
            event = decode_event(row.event_id, row.type, row.body)
            first.setdefault(event.key, row.seq)
            found[event.key] = LatestAcceptance(row.seq, row.occurrence, event, first[event.key])
    return found


def acceptances_of(connection: Connection, keys: Iterable[EventKey]) -> Iterator[Row[*tuple[Any, ...]]]:
    """Who reported each acceptance of these events, in the order of the log.

    ``is_whole`` is false of belated reorgs only.
    """
    named = (log.Event.seq, log.Event.subject, log.Event.event_id, log.Event.occurrence)
    sent = (log.Event.reporter, log.Event.limited_to)
    query = select(*named, *sent, IS_WHOLE.label("is_whole")).order_by(log.Event.seq)
    for of_keys in with_keys(connection, log.Event.event_id, log.Event.subject, keys):
        yield from connection.execute(query.where(of_keys))


def first_acceptances(connection: Connection, event_ids: Collection[str]) -> dict[str, dict[EventKey, int]]:
    """The keys in the log by their id, each with the position of its first acceptance."""
    found: dict[str, dict[EventKey, int]] = defaultdict(dict)
    ordered = sorted(event_ids)
    for start in range(0, len(ordered), MOST_IN_STATEMENT):
        rows = connection.execute(
            select(log.Event.event_id, log.Event.subject, func.min(log.Event.seq).label("first"))
            .where(is_one_of(connection, log.Event.event_id, ordered[start : start + MOST_IN_STATEMENT]))
            .group_by(log.Event.event_id, log.Event.subject)
        )
        for row in rows:
            found[row.event_id][EventKey(row.subject, row.event_id)] = row.first
    return found


def keys_reported(connection: Connection, reporter: str, since: datetime) -> list[EventKey]:
    """The keys of all that was received from a reporter since a time, in the order of the log.

    Retractions are left out. An event that was accepted repeatedly appears once. An event whose id a
    reporter with other limits used too is left out.
    """
    another = aliased(log.Event)
    of_another = exists().where(
        another.event_id == log.Event.event_id,
        another.subject == log.Event.subject,
        another.reporter != reporter,
        another.limited_to.is_distinct_from(log.Event.limited_to),
    )
    found = connection.execute(
        select(log.Event.subject, log.Event.event_id)
        .where(log.Event.reporter == reporter, log.Event.received_at >= since)
        .where(log.Event.type != EventsRetracted.type, ~of_another)
        .order_by(log.Event.seq)
    )
    return [EventKey(*row) for row in dict.fromkeys(map(tuple, found))]


def taken_from(
    connection: Connection, reporter: str, transfer_ids: Collection[bytes]
) -> dict[tuple[bytes | ChainId, str], int]:
    """The number of a reporter's accepted events about these transfers, by transfer and event type."""
    table = log.Event
    rows = connection.execute(
        select(table.transfer_id, table.type, func.count(table.event_id.distinct()))
        .where(is_one_of(connection, table.transfer_id, transfer_ids), table.reporter == reporter)
        .group_by(table.transfer_id, table.type)
    )
    return {(transfer_id, type_): count for transfer_id, type_, count in rows if transfer_id is not None}


def load_events(connection: Connection, keys: Iterable[EventKey]) -> Iterator[Event]:
    """The events of these keys, each once, as reported last."""
    for acceptance in latest_acceptances(connection, keys).values():
        yield acceptance.event


def chains_read_by(connection: Connection, reporter: str, chain_ids: Collection[ChainId]) -> set[ChainId]:
    """The chains among these of which a reporter reported heads."""
    table, ids = log.Event, sorted(chain_ids)
    heads = (
        exists().where(_IS_HEAD, table.reporter == reporter, table.chain_id == chain_id) for chain_id in ids
    )
    row = connection.execute(select(*heads)).one()
    return {chain_id for chain_id, is_read in zip(ids, row, strict=True) if is_read}


def events_of_logs(
    connection: Connection, transfer_ids: Collection[bytes], transactions: Collection[str]
) -> list[tuple[Event, str]]:
    """Events that were read from logs, and their reporters: all about some transfers, and all of some
    transactions.

    Each part is in the order of the log.

    :param transactions: what their ids begin with (``app.transfers.rules.events.renumbered``).
    """
    table = log.Event
    ids, txs = sorted(transfer_ids), sorted(transactions)
    conditions: list[ColumnElement[bool]] = []
    for start in range(0, len(ids), MOST_IN_STATEMENT):
        of_transfers = is_one_of(connection, table.transfer_id, ids[start : start + MOST_IN_STATEMENT])
        conditions.append(and_(of_transfers, table.type.in_(_OF_TRANSFERS)))
    for start in range(0, len(txs), RANGES_AT_ONCE):
        # Digits come before letters in every collation, so the index has all of them between the two.
        between = (table.event_id.between(f"{tx}:", f"{tx}:z") for tx in txs[start : start + RANGES_AT_ONCE])
        conditions.append(and_(or_(*between), table.transfer_id.is_(None)))
    query = select(table.event_id, table.type, table.body, table.reporter).order_by(table.seq)
    rows = (row for each in conditions for row in connection.execute(query.where(each)))
    return [(decode_event(row.event_id, row.type, row.body), row.reporter) for row in rows]


def first_ahead(connection: Connection) -> datetime | None:
    """When the first event ahead of the clock counts."""
    return connection.scalar(select(func.min(log.EventAhead.at)))


class LogTimes(NamedTuple):
    """When the newest acceptance was received, by the clock of then, and whether an event ahead is due."""

    newest_receipt: datetime | None
    is_any_due: bool


_TIMES: Final = select(_NEWEST_RECEIPT.scalar_subquery(), exists(_DUE))


def log_times(connection: Connection, now: datetime) -> LogTimes:
    """The :class:`LogTimes`, in one statement of index reads."""
    return LogTimes(*connection.execute(_TIMES, {"now": now}).one())


def due_positions(connection: Connection, now: datetime) -> Sequence[int]:
    return connection.scalars(_DUE, {"now": now}).all()


def positions_ahead(connection: Connection) -> set[int]:
    return set(connection.scalars(select(log.EventAhead.seq)))


def received_later(connection: Connection, now: datetime) -> Iterator[Row[*tuple[Any, ...]]]:
    """Position and time of the events at the end of the log whose time is in the future.

    Read backwards over all that was received after ``now``, by the clock at that time.
    """
    last = None
    while True:
        query = select(log.Event.seq, log.Event.at, log.Event.type, log.Event.received_at)
        if last is not None:
            query = query.where(log.Event.seq < last)
        rows = connection.execute(query.order_by(log.Event.seq.desc()).limit(PAGE)).all()
        for row in rows:
            if row.received_at <= now:
                return
            if row.at > now and row.type not in _AT_ONCE:
                yield row
        if len(rows) < PAGE:
            return
        last = rows[-1].seq


def events_at(connection: Connection, positions: Collection[int]) -> list[Event]:
    rows = connection.execute(
        select(log.Event.event_id, log.Event.type, log.Event.body).where(
            is_one_of(connection, log.Event.seq, positions)
        )
    )
    return [decode_event(row.event_id, row.type, row.body) for row in rows]


def latest_rotation(connection: Connection, chain_id: ChainId) -> tuple[ValidatorsUpdated | None, int]:
    """The rotation whose set is in force, as reported last, and the number of canonical ones up to it.

    0 where the opening set is in force.
    """
    table = ReportedValidatorSet
    row = connection.execute(
        select(table.event_id, table.version).where(table.chain_id == chain_id)
    ).one_or_none()
    if row is None:
        return None, 0
    key = EventKey(subject_of_chain(chain_id), row.event_id)
    found = latest_acceptances(connection, [key]).get(key)
    return (None if found is None else cast("ValidatorsUpdated", found.event)), row.version


def count_rotations(connection: Connection, chain_id: ChainId, reporter: str) -> int:
    reported = select(func.count(log.Event.event_id.distinct())).where(
        log.Event.chain_id == chain_id,
        log.Event.type == ValidatorsUpdated.type,
        log.Event.reporter == reporter,
    )
    return connection.scalar(reported) or 0


def log_page(connection: Connection, after_seq: int, limit: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The next acceptances after a position, with every column."""
    return connection.execute(
        select(log.Event.__table__).where(log.Event.seq > after_seq).order_by(log.Event.seq).limit(limit)
    ).all()


def grown_transfers(connection: Connection) -> int | None:
    """How many transfers were made up for measurements; None in a database that has a log."""
    return connection.scalar(select(GrownDatabase.transfers))


def every_retraction(connection: Connection) -> list[Retraction]:
    """All retractions in the log, canonical or not, with what each names."""
    rows = connection.execute(
        select(log.Event.seq, log.Event.event_id, log.Event.type, log.Event.body).where(
            log.Event.chain_id.is_(None), log.Event.type == EventsRetracted.type
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
    query = select(table.seq, table.subject, table.event_id, log.Event.event_id.label("retraction_id")).join(
        log.Event, log.Event.seq == table.seq
    )
    for condition in conditions:
        yield from connection.execute(query.where(condition))


def affected_by(connection: Connection, keys: Iterable[EventKey]) -> set[EventKey]:
    """These events and, where they are retractions, the events that those name, and so on: all that may
    become canonical, or no longer so.
    """
    affected: set[EventKey] = set()
    new = set(keys)
    while new:
        affected |= new
        new = _named_by_keys(connection, sorted(key.id for key in new if key.subject == OPERATORS)) - affected
    return affected


def _named_by_keys(connection: Connection, retraction_ids: Sequence[str]) -> set[EventKey]:
    found: set[EventKey] = set()
    for start in range(0, len(retraction_ids), MOST_IN_STATEMENT):
        of_ids = is_one_of(connection, log.Event.event_id, retraction_ids[start : start + MOST_IN_STATEMENT])
        rows = connection.execute(
            select(RetractionTarget.subject, RetractionTarget.event_id)
            .join(log.Event, log.Event.seq == RetractionTarget.seq)
            .where(of_ids, log.Event.subject == OPERATORS)
        )
        found |= {EventKey(*row) for row in rows}
    return found
