"""What does the log say last under each of these ids?"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from app.domain.transfer.judge import LatestAcceptance
from app.models.events import Event


def latest_acceptances(connection: Connection, event_ids: Collection[str]) -> dict[str, LatestAcceptance]:
    """The latest acceptance of each of the ids that are in the log."""
    rows = connection.execute(
        select(Event.event_id, Event.seq, Event.occurrence, Event.type, Event.body)
        .where(Event.event_id.in_(event_ids))
        .order_by(Event.seq)
    )
    return {row.event_id: LatestAcceptance(row.seq, row.occurrence, row.type, row.body) for row in rows}
