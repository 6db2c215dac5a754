"""Who reported what about a transfer, and what took it back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.domain.keys import TransferId
from app.models.anomalies import Anomaly
from app.models.events import Event

MOST_EVENTS = 1_000
"""Of one transfer; an honest log has some twenty."""


def receipts(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    """Place in the log, reporter and time of receipt of each acceptance, in the order of the log."""
    return connection.execute(
        select(Event.seq, Event.reporter, Event.received_at)
        .where(Event.transfer_id == transfer_id)
        .order_by(Event.seq)
        .limit(MOST_EVENTS)
    ).all()


def entries_at(connection: Connection, places: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    """What stands in the log at these places."""
    wanted = select(
        Event.seq, Event.event_id, Event.type, Event.reporter, Event.chain_id, Event.block, Event.body
    )
    return connection.execute(wanted.where(Event.seq.in_(places))).all()


def anomalies_of(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    """The anomalies of a transfer, the newest first, acknowledged ones too."""
    return connection.execute(
        select(Anomaly.__table__).where(Anomaly.transfer_id == transfer_id).order_by(Anomaly.last_at.desc())
    ).all()
