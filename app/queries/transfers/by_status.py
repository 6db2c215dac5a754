"""What goes on right now? Every question is answered from an index and counts no further than it must."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, func, literal, select, union_all

from app.models.anomalies import Anomaly
from app.models.estimates import EstimateCount
from app.models.events import ChainProgress, Event
from app.models.pools import PoolCounter
from app.models.transfers import Transfer

COUNTED: Final = 200_000
"""Counting stops here: more is said as "at least"; 200,000 entries of an index take about 20 ms."""

Rows = Sequence[Row[*tuple[Any, ...]]]


def reached_since(connection: Connection, statuses: Sequence[int], since: datetime) -> dict[int, int]:
    """How many transfers came to each status since then and are still there; counted up to ``COUNTED``.

    Read from the index of status and time alone.
    """
    counts = []
    for status in statuses:
        came = (Transfer.status == status, Transfer.status_since >= since)
        some = select(literal(1).label("one")).select_from(Transfer).where(*came).limit(COUNTED).subquery()
        counts.append(
            select(literal(status).label("status"), select(func.count()).select_from(some).label("n"))
        )
    return {row.status: row.n for row in connection.execute(union_all(*counts))}


def oldest_at_status(connection: Connection, status: int, size: int) -> Sequence[bytes]:
    """The ids of the transfers that have been longest at a status."""
    oldest = select(Transfer.transfer_id).where(Transfer.status == status)
    return connection.scalars(oldest.order_by(Transfer.status_since, Transfer.transfer_id).limit(size)).all()


def open_anomalies(connection: Connection, size: int) -> Rows:
    """Anomalies that nobody has acknowledged, the newest first."""
    found = select(Anomaly.__table__).where(Anomaly.acknowledged_at.is_(None))
    return connection.execute(found.order_by(Anomaly.last_at.desc(), Anomaly.id.desc()).limit(size)).all()


def count_open_anomalies(connection: Connection) -> int:
    """How many there are; counted up to ``COUNTED``."""
    some = select(Anomaly.id).where(Anomaly.acknowledged_at.is_(None)).limit(COUNTED).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def pool_counters(connection: Connection) -> Rows:
    """What the feed has moved through each pool: as many rows as there are pools."""
    return connection.execute(select(PoolCounter.__table__)).all()


def chain_progress(connection: Connection) -> Rows:
    """How far each chain has been read, and when its newest event happened."""
    return connection.execute(select(ChainProgress.__table__)).all()


def last_event(connection: Connection) -> Row[*tuple[Any, ...]] | None:
    """The newest acceptance of all: its type, reporter and time of receipt."""
    newest = select(Event.type, Event.reporter, Event.received_at).order_by(Event.seq.desc()).limit(1)
    return connection.execute(newest).one_or_none()


def estimate_counts(connection: Connection, first_minute: int) -> Rows:
    """What became of estimates by minute, code and reason, from a minute on."""
    counts = select(
        EstimateCount.minute, EstimateCount.code, EstimateCount.reason, EstimateCount.count.label("asked")
    )
    return connection.execute(
        counts.where(EstimateCount.minute >= first_minute).order_by(EstimateCount.minute)
    ).all()
