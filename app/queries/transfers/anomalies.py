"""Anomalies for the operators' eyes: pages of them, and how many wait."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.models.anomalies import Anomaly

AnomalyRow = Row[*tuple[Any, ...]]
"""The columns of ``anomalies``."""

_TABLE = Anomaly.__table__


def anomalies_page(
    connection: Connection, *, open_only: bool, kind: str | None, limit: int, offset: int
) -> list[AnomalyRow]:
    """The newest first; those that wait before those acknowledged."""
    query = select(_TABLE).order_by(
        Anomaly.acknowledged_at.is_not(None), Anomaly.last_at.desc(), Anomaly.id.desc()
    )
    if open_only:
        query = query.where(Anomaly.acknowledged_at.is_(None))
    if kind is not None:
        query = query.where(Anomaly.kind == kind)
    return list(connection.execute(query.limit(limit).offset(offset)))


def anomalies_by_id(connection: Connection, ids: Collection[int]) -> list[AnomalyRow]:
    """Those of the ids that there are, by id."""
    return list(connection.execute(select(_TABLE).where(Anomaly.id.in_(ids)).order_by(Anomaly.id)))


def anomalies_of_transfer(connection: Connection, transfer_id: bytes) -> list[AnomalyRow]:
    """All of a transfer, the oldest first."""
    of_transfer = select(_TABLE).where(Anomaly.transfer_id == transfer_id)
    return list(connection.execute(of_transfer.order_by(Anomaly.first_at, Anomaly.id)))


def open_anomalies_by_kind(connection: Connection) -> dict[str, int]:
    """How many wait to be acknowledged, by kind; kinds without any are left out."""
    waiting = select(Anomaly.kind, func.count().label("waiting")).where(Anomaly.acknowledged_at.is_(None))
    return {row.kind: row.waiting for row in connection.execute(waiting.group_by(Anomaly.kind))}
