"""Does the database hold anything, and who reported first?"""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.models.events import Event
from app.models.network import Chain


def is_empty(connection: Connection) -> bool:
    """Whether no event was ever accepted and no chain is configured."""
    return all(connection.execute(select(model).limit(1)).first() is None for model in (Event, Chain))


def first_reporter(connection: Connection) -> str | None:
    """Who reported the first event of the log; None while the log is empty. One index read."""
    return connection.scalar(select(Event.reporter).order_by(Event.seq).limit(1))
