"""What does the log say last under each of these keys?"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from app.domain.transfer.events import EventKey
from app.domain.transfer.judge import LatestAcceptance
from app.models.events import Event
from app.queries.feed.codec import decode_event
from app.queries.feed.keys import with_keys


def latest_acceptances(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, LatestAcceptance]:
    """The latest acceptance of each of the keys that are in the log."""
    found: dict[EventKey, LatestAcceptance] = {}
    for of_keys in with_keys(Event.event_id, Event.subject, keys):
        rows = connection.execute(
            select(Event.event_id, Event.seq, Event.occurrence, Event.type, Event.body)
            .where(of_keys)
            .order_by(Event.seq)
        )
        for row in rows:
            event = decode_event(row.event_id, row.type, row.body)
            found[event.key] = LatestAcceptance(row.seq, row.occurrence, event)
    return found
