"""Which retractions are in the log?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from sqlalchemy import Connection, select

from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import EventsRetracted
from app.domain.transfer.standing import Logged, Retraction
from app.domain.transfer.subjects import EventKey
from app.models.events import Event
from app.queries.feed.acceptances import first_acceptances
from app.queries.feed.codec import decode_event


def load_retractions(connection: Connection) -> list[Retraction]:
    """All of them, whether or not they stand, with what each names."""
    logged = _logged(connection)
    unsaid = {target for each in logged if each.event.subjects is None for target in each.event.targets}
    accepted = first_acceptances(connection, unsaid) if unsaid else {}
    return [Retraction(each.seq, each.event.key, _targets(each, accepted)) for each in logged]


def _targets(
    logged: Logged[EventsRetracted], accepted: Mapping[str, Mapping[EventKey, int]]
) -> Collection[EventKey]:
    """One that does not say what its targets are about names whatever had their ids before it."""
    targets, subjects = logged.event.targets, logged.event.subjects
    if subjects is not None:
        return [EventKey(*key) for key in zip(subjects, targets, strict=True)]
    return [
        key for target in targets for key, first in accepted.get(target, {}).items() if first < logged.seq
    ]


def _logged(connection: Connection) -> list[Logged[EventsRetracted]]:
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body).where(
            Event.chain_id.is_(None), Event.type == EventType.EVENTS_RETRACTED.value
        )
    )
    return [
        Logged(row.seq, cast("EventsRetracted", decode_event(row.event_id, row.type, row.body)))
        for row in rows
    ]
