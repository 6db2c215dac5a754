"""Which retractions are in the log?"""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, select

from app.domain.transfer.events import EventsRetracted, EventType
from app.domain.transfer.standing import Logged
from app.models.events import Event
from app.queries.feed.codec import decode_event


def load_retractions(connection: Connection) -> list[Logged[EventsRetracted]]:
    """All of them, whether or not they stand."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body).where(
            Event.chain_id.is_(None), Event.type == EventType.EVENTS_RETRACTED.value
        )
    )
    return [
        Logged(row.seq, cast("EventsRetracted", decode_event(row.event_id, row.type, row.body)))
        for row in rows
    ]
