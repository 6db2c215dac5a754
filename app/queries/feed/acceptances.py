"""Which events of these ids are in the log, and what do they say there?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from sqlalchemy import Connection, select

from app.domain.transfer.events import Event, EventKey, EventType
from app.models import events as log
from app.queries.feed.keys import MOST_IN_STATEMENT
from app.queries.feed.latest import latest_acceptances


def first_acceptances(connection: Connection, event_ids: Collection[str]) -> dict[str, dict[EventKey, int]]:
    """By id, what in the log has that id, and the position in the log of its first acceptance."""
    found: dict[str, dict[EventKey, int]] = defaultdict(dict)
    ordered = sorted(event_ids)
    for start in range(0, len(ordered), MOST_IN_STATEMENT):
        rows = connection.execute(
            select(log.Event.event_id, log.Event.subject, log.Event.seq).where(
                log.Event.event_id.in_(ordered[start : start + MOST_IN_STATEMENT]), log.Event.occurrence == 0
            )
        )
        for row in rows:
            found[row.event_id][EventKey(row.subject, row.event_id)] = row.seq
    return found


def keys_reported(connection: Connection, reporter: str, since: datetime) -> list[EventKey]:
    """All that was received from a reporter since a time, in the order of the log.

    Retractions are left out. An event that was accepted repeatedly appears once.
    """
    found = connection.execute(
        select(log.Event.subject, log.Event.event_id)
        .where(log.Event.reporter == reporter, log.Event.received_at >= since)
        .where(log.Event.type != EventType.EVENTS_RETRACTED.value)
        .order_by(log.Event.seq)
    )
    return [EventKey(*row) for row in dict.fromkeys(map(tuple, found))]


def load_events(connection: Connection, keys: Iterable[EventKey]) -> Iterator[Event]:
    """The events of these keys, each once, with all that is told of them."""
    for acceptance in latest_acceptances(connection, keys).values():
        yield acceptance.event
