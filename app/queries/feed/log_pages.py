"""What does the log hold, in its order?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.models.events import Event


def log_page(connection: Connection, after_seq: int, limit: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The next acceptances after a position, with every column."""
    return connection.execute(
        select(Event.__table__).where(Event.seq > after_seq).order_by(Event.seq).limit(limit)
    ).all()
