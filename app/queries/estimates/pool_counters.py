"""What have events moved through each pool?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.models.pools import PoolCounter


def pool_counters(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """The counters of every pool that an event has moved anything through."""
    return connection.execute(select(PoolCounter.__table__)).all()
