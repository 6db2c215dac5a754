"""Which anomalies are kept of these subjects?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from app.domain.keys import ChainId
from app.domain.transfer.anomalies import AnomalyKind
from app.models.anomalies import Anomaly
from app.models.choice import is_one_of

AnomalyRow = Row[*tuple[Any, ...]]


def anomalies_of_subjects(connection: Connection, subjects: Collection[str]) -> Sequence[AnomalyRow]:
    """All columns of the anomalies of these subjects."""
    return connection.execute(
        select(Anomaly.__table__).where(is_one_of(connection, Anomaly.subject, subjects))
    ).all()


def first_raised(connection: Connection, subject: str) -> datetime | None:
    """When an anomaly of the subject was first raised; None where there is none."""
    return connection.scalar(select(Anomaly.first_at).where(Anomaly.subject == subject))


def rotation_subjects(connection: Connection, chain_id: ChainId) -> Sequence[str]:
    """Subjects of the anomalies about rotations of a chain's validators."""
    return connection.scalars(
        select(Anomaly.subject).where(
            Anomaly.chain_id == chain_id, Anomaly.kind == AnomalyKind.ROTATION_KEEPS_TOO_LITTLE.value
        )
    ).all()


def pool_anomalies(connection: Connection) -> Sequence[AnomalyRow]:
    """Subject, first time and acknowledgement of the anomalies about pools."""
    columns = (Anomaly.subject, Anomaly.first_at, Anomaly.acknowledged_at, Anomaly.acknowledged_by)
    kind = AnomalyKind.POOL_UNDER_ZERO.value
    return connection.execute(select(*columns).where(Anomaly.kind == kind)).all()
