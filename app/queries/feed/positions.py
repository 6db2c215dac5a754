"""How far does the log reach, and which position has the newest acceptance that reversed others?"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, exists, func, select

from app.models.events import Event, RetractedEvent
from app.models.pruned import PrunedReporter, PrunedTransfer
from app.queries.feed.standing import IS_REORG


@dataclass(frozen=True, slots=True)
class LogPositions:
    """Positions in the log; 0 where there is nothing of the kind."""

    last_seq: int
    """Of the newest acceptance there ever was, pruned ones included."""
    last_reversal: int
    """Of the newest reorg or retraction: whatever was accepted later stands."""
    any_pruned: bool
    """Whether any transfer was ever pruned."""


_POSITIONS = select(
    select(func.max(Event.seq)).scalar_subquery().label("newest"),
    select(func.max(PrunedReporter.seq)).scalar_subquery().label("pruned"),
    select(func.max(Event.seq)).where(IS_REORG).scalar_subquery().label("reorg"),
    select(func.max(RetractedEvent.seq)).scalar_subquery().label("retraction"),
    exists(select(PrunedTransfer.transfer_id)).label("any_pruned"),
)


def load_positions(connection: Connection) -> LogPositions:
    """The positions, in one statement."""
    row = connection.execute(_POSITIONS).one()
    return LogPositions(
        last_seq=max(row.newest or 0, row.pruned or 0),
        last_reversal=max(row.reorg or 0, row.retraction or 0),
        any_pruned=bool(row.any_pruned),
    )


def newest_seq(connection: Connection) -> int:
    """The position of the newest acceptance that is still kept; 0 where there is none."""
    return connection.scalar(select(func.max(Event.seq))) or 0
