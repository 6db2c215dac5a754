"""How far has each chain been read, and what was accepted last?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.models.events import ChainProgress, Event

_FRESHNESS = select(ChainProgress.chain_id, ChainProgress.newest_at).order_by(
    ChainProgress.newest_at.desc(), ChainProgress.chain_id
)


def newest_events(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """Each chain that has reported, with the time of its newest accepted event, the freshest first."""
    return connection.execute(_FRESHNESS).all()


def chain_progress(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """How far each chain has been read, and when its newest event happened."""
    return connection.execute(select(ChainProgress.__table__)).all()


def last_event(connection: Connection) -> Row[*tuple[Any, ...]] | None:
    """The newest acceptance of all: its type, reporter and time of receipt."""
    newest = select(Event.type, Event.reporter, Event.received_at).order_by(Event.seq.desc()).limit(1)
    return connection.execute(newest).one_or_none()
