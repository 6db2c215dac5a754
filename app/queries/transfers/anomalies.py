"""Which anomalies are there?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.domain.keys import TransferId
from app.models.anomalies import Anomaly
from app.queries.transfers.bounds import at_most
from app.queries.transfers.by_status import COUNTED

AnomalyRow = Row[*tuple[Any, ...]]
"""The columns of ``anomalies``."""

_TABLE = Anomaly.__table__


def anomalies_by_id(connection: Connection, ids: Collection[int]) -> list[AnomalyRow]:
    """Those of the ids that there are, by id."""
    return list(connection.execute(select(_TABLE).where(Anomaly.id.in_(ids)).order_by(Anomaly.id)))


def anomalies_of(connection: Connection, transfer_id: TransferId) -> Sequence[AnomalyRow]:
    """The anomalies of a transfer, the newest first, acknowledged ones too."""
    return connection.execute(
        select(_TABLE).where(Anomaly.transfer_id == transfer_id).order_by(Anomaly.last_at.desc())
    ).all()


def open_anomalies(connection: Connection, size: int) -> Sequence[AnomalyRow]:
    """Anomalies that nobody has acknowledged, the newest first."""
    found = select(_TABLE).where(Anomaly.acknowledged_at.is_(None))
    return connection.execute(
        found.order_by(Anomaly.last_at.desc(), Anomaly.id.desc()).limit(at_most(size))
    ).all()


def first_open_anomalies(connection: Connection, size: int) -> Sequence[AnomalyRow]:
    """Anomalies that nobody has acknowledged, the first that there were.

    A new one, or one that is met again, moves none of the others out of the first ones.
    """
    found = select(_TABLE).where(Anomaly.acknowledged_at.is_(None))
    return connection.execute(found.order_by(Anomaly.id).limit(size)).all()


def count_open_anomalies(connection: Connection) -> int:
    """How many nobody has acknowledged; counted up to ``COUNTED``."""
    some = select(Anomaly.id).where(Anomaly.acknowledged_at.is_(None)).limit(COUNTED).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def open_anomalies_by_kind(connection: Connection) -> dict[str, int]:
    """How many of each kind nobody has acknowledged; in all counted up to ``COUNTED``."""
    some = select(Anomaly.kind).where(Anomaly.acknowledged_at.is_(None)).limit(COUNTED).subquery()
    return dict(connection.execute(select(some.c.kind, func.count()).group_by(some.c.kind)).all())
