"""Which accepted events are ahead of the clock?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, func, select

from app.domain.transfer.events import Event, EventType
from app.models import events as log
from app.models.choice import is_one_of
from app.queries.feed.codec import decode_event

PAGE: Final = 500

_AT_ONCE: Final = (EventType.CHAIN_REORGED.value, EventType.EVENTS_RETRACTED.value)
"""Types that count whatever their time is (``domain.transfer.events.is_ahead``)."""

_NEWEST_RECEIPT = select(log.Event.received_at).order_by(log.Event.seq.desc()).limit(1)


def first_ahead(connection: Connection) -> datetime | None:
    """When the first of them counts; None where there is none."""
    return connection.scalar(select(func.min(log.EventAhead.at)))


def newest_receipt(connection: Connection) -> datetime | None:
    """When the newest acceptance was received, by the clock of then. One index read."""
    return connection.scalar(_NEWEST_RECEIPT)


def due(connection: Connection, now: datetime) -> Sequence[int]:
    """Positions in the log of those whose time has come."""
    return connection.scalars(select(log.EventAhead.seq).where(log.EventAhead.at <= now)).all()


def positions_ahead(connection: Connection) -> set[int]:
    """Positions in the log of all of them."""
    return set(connection.scalars(select(log.EventAhead.seq)))


def received_later(connection: Connection, now: datetime) -> Iterator[Row[*tuple[Any, ...]]]:
    """Position and time of what the end of the log has from times that are still to come.

    Walked backwards over all that was received, by the clock of then, after ``now``.
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
    """The events that were accepted at these positions of the log."""
    rows = connection.execute(
        select(log.Event.event_id, log.Event.type, log.Event.body).where(
            is_one_of(connection, log.Event.seq, positions)
        )
    )
    return [decode_event(row.event_id, row.type, row.body) for row in rows]
