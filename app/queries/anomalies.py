"""Anomalies that an operator acknowledges."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, select

from app.models.anomalies import Anomaly

AnomalyRow = Row[*tuple[Any, ...]]
"""The columns of ``anomalies``."""

_TABLE = Anomaly.__table__


def anomalies_by_id(connection: Connection, ids: Collection[int]) -> list[AnomalyRow]:
    """The anomalies that exist of these ids, ordered by id."""
    return list(connection.execute(select(_TABLE).where(Anomaly.id.in_(ids)).order_by(Anomaly.id)))
