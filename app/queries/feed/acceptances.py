"""Which of these event ids are in the log, and what do they say there?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from sqlalchemy import Connection, select

from app.domain.transfer.events import Event, EventType
from app.models import events as log
from app.queries.feed.codec import decode_event


def known_ids(connection: Connection, event_ids: Collection[str]) -> set[str]:
    """Those of the ids that are in the log."""
    return set(connection.scalars(select(log.Event.event_id).where(log.Event.event_id.in_(event_ids))))


def ids_reported(connection: Connection, reporter: str, since: datetime) -> list[str]:
    """The ids of all that was received from a reporter since a time, in the order of the log.

    Retractions are left out. An id that was accepted repeatedly appears once.
    """
    found = connection.scalars(
        select(log.Event.event_id)
        .where(log.Event.reporter == reporter, log.Event.received_at >= since)
        .where(log.Event.type != EventType.EVENTS_RETRACTED.value)
        .order_by(log.Event.seq)
    )
    return list(dict.fromkeys(found))


def load_events(connection: Connection, event_ids: Collection[str]) -> Iterator[Event]:
    """The events of these ids, each once, in the order of their first acceptance."""
    rows = connection.execute(
        select(log.Event.event_id, log.Event.type, log.Event.body)
        .where(log.Event.event_id.in_(event_ids), log.Event.occurrence == 0)
        .order_by(log.Event.seq)
    )
    return (decode_event(row.event_id, row.type, row.body) for row in rows)


def transfers_of_events(connection: Connection, event_ids: Collection[str]) -> dict[str, bytes | None]:
    """The transfer that each of these events is about; None for an event about none."""
    rows = connection.execute(
        select(log.Event.event_id, log.Event.transfer_id).where(log.Event.event_id.in_(event_ids)).distinct()
    )
    return {row.event_id: row.transfer_id for row in rows}
