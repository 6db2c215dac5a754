"""Reads the event log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Connection, Row, exists, func, select
from sqlalchemy.orm import aliased

from app.db.types import is_one_of
from app.feed.models import GrownDatabase
from app.network.models import ReportedValidatorSet
from app.transfers import models as log
from app.transfers.codec import MOST_IN_STATEMENT, decode_event, with_keys
from app.transfers.events import ChainReorged, Event, EventsRetracted, ValidatorsUpdated
from app.transfers.subjects import EventKey, subject_of_chain
from app.transfers.validation import LatestAcceptance
from app.values.identifiers import ChainId

PAGE: Final = 500

_AT_ONCE: Final = (ChainReorged.type, EventsRetracted.type)
"""Types that count whatever their time is (``reorganisations.is_ahead``)."""

_NEWEST_RECEIPT = select(log.Event.received_at).order_by(log.Event.seq.desc()).limit(1)


def latest_acceptances(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, LatestAcceptance]:
    """The latest acceptance of each of the keys that are in the log."""
    found: dict[EventKey, LatestAcceptance] = {}
    for of_keys in with_keys(connection, log.Event.event_id, log.Event.subject, keys):
        rows = connection.execute(
            select(
                log.Event.event_id,
                log.Event.seq,
                log.Event.occurrence,
                log.Event.type,
                log.Event.body,
            )
            .where(of_keys)
            .order_by(log.Event.seq)
        )
        for row in rows:
            event = decode_event(row.event_id, row.type, row.body)
            found[event.key] = LatestAcceptance(row.seq, row.occurrence, event)
    return found


def first_acceptances(connection: Connection, event_ids: Collection[str]) -> dict[str, dict[EventKey, int]]:
    """By id, the keys in the log with that id, each with the position of its first acceptance."""
    found: dict[str, dict[EventKey, int]] = defaultdict(dict)
    ordered = sorted(event_ids)
    for start in range(0, len(ordered), MOST_IN_STATEMENT):
        rows = connection.execute(
            select(
                log.Event.event_id,
                log.Event.subject,
                func.min(log.Event.seq).label("first"),
            )
            .where(is_one_of(connection, log.Event.event_id, ordered[start : start + MOST_IN_STATEMENT]))
            .group_by(log.Event.event_id, log.Event.subject)
        )
        for row in rows:
            found[row.event_id][EventKey(row.subject, row.event_id)] = row.first
    return found


def keys_reported(connection: Connection, reporter: str, since: datetime) -> list[EventKey]:
    """All that was received from a reporter since a time, in the order of the log.

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
    """By transfer and event type, the number of a reporter's acceptances about these transfers."""
    table = log.Event
    rows = connection.execute(
        select(table.transfer_id, table.type, func.count())
        .where(is_one_of(connection, table.transfer_id, transfer_ids), table.reporter == reporter)
        .group_by(table.transfer_id, table.type)
    )
    return {(transfer_id, type_): count for transfer_id, type_, count in rows if transfer_id is not None}


def load_events(connection: Connection, keys: Iterable[EventKey]) -> Iterator[Event]:
    """The events of these keys, each once, as reported last."""
    for acceptance in latest_acceptances(connection, keys).values():
        yield acceptance.event


def first_ahead(connection: Connection) -> datetime | None:
    """When the first event ahead of the clock counts; None where there is none."""
    return connection.scalar(select(func.min(log.EventAhead.at)))


def newest_receipt(connection: Connection) -> datetime | None:
    """When the newest acceptance was received, by the clock at that time. One index read."""
    return connection.scalar(_NEWEST_RECEIPT)


def due_positions(connection: Connection, now: datetime) -> Sequence[int]:
    """Positions in the log of the events ahead whose time has come."""
    return connection.scalars(select(log.EventAhead.seq).where(log.EventAhead.at <= now)).all()


def positions_ahead(connection: Connection) -> set[int]:
    """Positions in the log of all events ahead."""
    return set(connection.scalars(select(log.EventAhead.seq)))


def received_later(connection: Connection, now: datetime) -> Iterator[Row[*tuple[Any, ...]]]:
    """Position and time of the events at the end of the log whose time is in the future.

    Read backwards over all that was received after ``now``, by the clock at that time.
    """
    last = None
    while True:
        query = select(
            log.Event.seq,
            log.Event.at,
            log.Event.type,
            log.Event.received_at,
        )
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
    """The events that were accepted at these positions of the log."""
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
    """How many rotations of a chain were accepted from a reporter, repeated acceptances included."""
    reported = select(func.count()).where(
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
