"""Which event ids does a standing retraction name?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import islice

from sqlalchemy import Connection, select

from app.models.events import RetractedEvent

MOST_IN_STATEMENT = 10_000
"""Values named in one statement: SQLite takes 32,766, PostgreSQL 65,535."""


def retracted_ids(connection: Connection, event_ids: Iterable[str]) -> dict[str, int]:
    """Of these ids those that a standing retraction names, and the retraction's position in the log."""
    rest = iter(event_ids)
    found: dict[str, int] = {}
    while asked := list(islice(rest, MOST_IN_STATEMENT)):
        rows = connection.execute(
            select(RetractedEvent.event_id, RetractedEvent.seq).where(RetractedEvent.event_id.in_(asked))
        )
        found |= {row.event_id: row.seq for row in rows}
    return found


def every_retracted_id(connection: Connection) -> dict[str, int]:
    """All ids that a standing retraction names, and the retraction's position in the log."""
    rows = connection.execute(select(RetractedEvent.event_id, RetractedEvent.seq))
    return {row.event_id: row.seq for row in rows}


def retracted_of_transfers(
    connection: Connection, transfer_ids: Collection[bytes]
) -> dict[bytes, dict[str, int]]:
    """The retracted ids of each of the transfers that has any, with the retractions' positions."""
    retracted: dict[bytes, dict[str, int]] = defaultdict(dict)
    rows = connection.execute(
        select(RetractedEvent.transfer_id, RetractedEvent.event_id, RetractedEvent.seq).where(
            RetractedEvent.transfer_id.in_(transfer_ids)
        )
    )
    for row in rows:
        retracted[row.transfer_id][row.event_id] = row.seq
    return retracted
