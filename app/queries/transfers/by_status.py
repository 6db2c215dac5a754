"""How many transfers are at each status, and which have been there longest?

Every answer is read from an index, and counting stops at a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, literal, select, union_all

from app.models.transfers import Transfer
from app.queries.transfers.bounds import at_most

COUNTED: Final = 200_000
"""Counting stops here; the console shows more as "at least". 200,000 index entries take about 20 ms."""


def reached_since(connection: Connection, statuses: Sequence[int], since: datetime) -> dict[int, int]:
    """How many transfers came to each status since then and are still there; counted up to ``COUNTED``.

    Read from the index of status and time alone.
    """
    counts = []
    for status in statuses:
        came = (Transfer.status == status, Transfer.status_since >= since)
        some = (
            select(literal(1).label("one"))
            .select_from(Transfer)
            .where(*came)
            .limit(at_most(COUNTED))
            .subquery()
        )
        counts.append(
            select(literal(status).label("status"), select(func.count()).select_from(some).label("n"))
        )
    return {row.status: row.n for row in connection.execute(union_all(*counts))}


def count_at_status(connection: Connection, status: int) -> int:
    """How many transfers are at a status; counted up to ``COUNTED``."""
    some = (
        select(literal(1))
        .select_from(Transfer)
        .where(Transfer.status == status)
        .limit(at_most(COUNTED))
        .subquery()
    )
    return connection.scalar(select(func.count()).select_from(some)) or 0


def oldest_at_status(connection: Connection, status: int, size: int) -> Sequence[bytes]:
    """The ids of the transfers that have been longest at a status."""
    oldest = select(Transfer.transfer_id).where(Transfer.status == status)
    return connection.scalars(
        oldest.order_by(Transfer.status_since, Transfer.transfer_id).limit(at_most(size))
    ).all()
