"""Entries of the log whose ids an earlier release stored in another spelling."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update

from app.db.types import is_one_of
from app.feed.queries.log import acceptances_of
from app.feed.verifying.comparing import Difference
from app.refunds.models import SignatureAside
from app.transfers.models import Event, RefundBasis
from app.transfers.rules.events.fields import id_in_one_form
from app.transfers.rules.events.keys import EventKey

EVENTS_AT_ONCE: Final = 100_000  # positions of the log

# Nearly all ids are in one form. The database leaves out most of them.
_MAY_BE_SPELLED: Final = Event.event_id.like("%:%:%:%") & or_(
    Event.event_id != func.lower(Event.event_id),
    Event.event_id.not_like("%:0x%:0x%:%"),
    Event.event_id.like("0%"),
    Event.event_id.like("%:%:%:0%"),
)


def compare_ids(connection: Connection, first: int) -> list[Difference]:
    """The entries of a part of the log whose ids are not in their one form."""
    return [
        Difference(Event.__tablename__, {"seq": row.seq}, {"event_id": row.event_id}, {"event_id": spelled})
        for row in _spelled(connection, first)
        if (spelled := id_in_one_form(row.event_id)) != row.event_id
    ]


def _spelled(connection: Connection, first: int) -> Iterator[Row[int, str]]:
    part = Event.seq >= first, Event.seq < first + EVENTS_AT_ONCE
    rows = select(Event.seq, Event.event_id).where(*part, _MAY_BE_SPELLED)
    yield from connection.execute(rows.order_by(Event.seq))


def repair_ids(connection: Connection, found: Collection[Difference]) -> None:
    """Write them in their one form. What follows from the log is compared and repaired later."""
    positions = [each.key["seq"] for each in found]
    wanted = is_one_of(connection, Event.seq, positions)
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.subject, Event.transfer_id).where(wanted)
    )
    for row in rows.all():
        key = EventKey(row.subject, id_in_one_form(row.event_id))
        there = list(acceptances_of(connection, [key]))
        moved = update(Event).where(Event.seq == row.seq)
        connection.execute(moved.values(event_id=key.id, occurrence=-1))
        _number(connection, sorted([row.seq, *(each.seq for each in there)]))
        if row.transfer_id is not None:
            _rename(connection, row.transfer_id, row.event_id, key.id)


def _number(connection: Connection, positions: Collection[int]) -> None:
    """Number the acceptances of one event: a number must not be there twice meanwhile."""
    for sign in (-1, 1):
        for number, seq in enumerate(positions):
            occurrence = number if sign == 1 else -2 - number
            connection.execute(update(Event).where(Event.seq == seq).values(occurrence=occurrence))


def _rename(connection: Connection, transfer_id: bytes, before: str, after: str) -> None:
    """Rename the event in what is stored under its id in other tables."""
    for model in (RefundBasis, SignatureAside):
        of_event = model.transfer_id == transfer_id, model.event_id == before
        rows = [
            row._asdict() | {"event_id": after}
            for row in connection.execute(select(model.__table__).where(*of_event))
        ]
        connection.execute(delete(model).where(*of_event))
        for row in rows:
            same = [
                model.__table__.c[column.name] == row[column.name] for column in model.__table__.primary_key
            ]
            if connection.execute(select(model.__table__).where(*same)).first() is None:
                connection.execute(insert(model), row)
