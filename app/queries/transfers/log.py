"""Who reported what about a transfer, and what retracted it?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.domain.keys import TransferId
from app.models.events import Event

MOST_EVENTS = 1_000
"""Read of one transfer at most; a usual log has some twenty."""


def receipts(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    """Position in the log, reporter and time of receipt of each acceptance, in the order of the log."""
    return connection.execute(
        select(Event.seq, Event.reporter, Event.received_at)
        .where(Event.transfer_id == transfer_id)
        .order_by(Event.seq)
        .limit(MOST_EVENTS)
    ).all()


def entries_at(connection: Connection, positions: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    """The entries of the log at these positions."""
    wanted = select(
        Event.seq, Event.event_id, Event.type, Event.reporter, Event.chain_id, Event.block, Event.body
    )
    return connection.execute(wanted.where(Event.seq.in_(positions))).all()
