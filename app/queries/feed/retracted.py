"""Which events does a standing retraction name?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from sqlalchemy import ColumnElement, Connection, select, true

from app.domain.transfer.subjects import EventKey
from app.models.choice import is_one_of
from app.models.events import RetractedEvent
from app.queries.feed.keys import with_keys


def retracted_keys(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, int]:
    """Of these keys those that a standing retraction names, and the retraction's position in the log."""
    found: dict[EventKey, int] = {}
    for of_keys in with_keys(connection, RetractedEvent.event_id, RetractedEvent.subject, keys):
        found |= _positions(connection, of_keys)
    return found


def every_retracted_key(connection: Connection) -> dict[EventKey, int]:
    """All that a standing retraction names, and the retraction's position in the log."""
    return _positions(connection, true())


def _positions(connection: Connection, condition: ColumnElement[bool]) -> dict[EventKey, int]:
    table = RetractedEvent
    rows = connection.execute(select(table.subject, table.event_id, table.seq).where(condition))
    return {EventKey(row.subject, row.event_id): row.seq for row in rows}


def retracted_of_transfers(
    connection: Connection, transfer_ids: Collection[bytes]
) -> dict[bytes, dict[str, int]]:
    """The retracted ids of each of the transfers that has any, with the retractions' positions."""
    retracted: dict[bytes, dict[str, int]] = defaultdict(dict)
    rows = connection.execute(
        select(RetractedEvent.transfer_id, RetractedEvent.event_id, RetractedEvent.seq).where(
            is_one_of(connection, RetractedEvent.transfer_id, transfer_ids)
        )
    )
    for row in rows:
        retracted[row.transfer_id][row.event_id] = row.seq
    return retracted
