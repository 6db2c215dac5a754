"""Anomalies as operators work through them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, insert, select, update

from app.domain.transfer.anomalies import AnomalyKind
from app.models.anomalies import Anomaly
from app.models.audit import AuditRecord
from app.models.engine import reading, writing
from app.runtime.gateway import Gateway, current_gateway
from app.services.audit.results import Conflict
from app.services.transfers.anomalies import acknowledge, anomalies_about, count_open, list_anomalies
from tests.services.network.edits.kit import ALICE, BOB

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRANSFER = bytes(31) + b"\x01"


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    gateway = replace(current_gateway(), clock=lambda: NOON)
    row: dict[str, Any] = {"detail": "d", "event_ids": ["a"], "first_at": NOON, "transfer_id": None}
    rows = [
        {"kind": "released_twice", "subject": "transfer:0x01", "transfer_id": TRANSFER},
        {"kind": "released_twice", "subject": "transfer:0x02"},
        {"kind": "pool_under_zero", "subject": "pool:1:USDT", "event_ids": []},
    ]
    with writing(gateway.engine) as connection:
        for n, values in enumerate(rows):
            connection.execute(
                insert(Anomaly).values(row | values | {"last_at": NOON + timedelta(minutes=n)})
            )
    return gateway


def change(gateway: Gateway, statement: Any) -> None:
    with writing(gateway.engine) as connection:
        connection.execute(statement)


def test_they_are_listed_counted_and_acknowledged(gateway: Gateway) -> None:
    assert [a.subject for a in list_anomalies(gateway)] == ["pool:1:USDT", "transfer:0x02", "transfer:0x01"]
    assert count_open(gateway) == {AnomalyKind.RELEASED_TWICE: 2, AnomalyKind.POOL_UNDER_ZERO: 1}
    (first,) = anomalies_about(gateway, TRANSFER)
    saved = acknowledge(gateway, {first.id: first.seen}, actor=ALICE)
    (first,) = anomalies_about(gateway, TRANSFER)
    assert (first.acknowledged_at, first.acknowledged_by) == (NOON, ALICE.name)
    assert count_open(gateway) == {AnomalyKind.RELEASED_TWICE: 1, AnomalyKind.POOL_UNDER_ZERO: 1}
    assert len(list_anomalies(gateway)) == 2
    listed = list_anomalies(gateway, open_only=False, kind=AnomalyKind.RELEASED_TWICE)
    assert [a.subject for a in listed] == ["transfer:0x02", "transfer:0x01"]
    assert [a.subject for a in list_anomalies(gateway, limit=1, offset=1)] == ["transfer:0x02"]
    with reading(gateway.engine) as connection:
        (record,) = connection.execute(select(AuditRecord.__table__))
    assert (record.id, record.action, record.subject) == (
        saved.record_id,
        "anomaly.acknowledge",
        "transfer:0x01",
    )
    (audited,) = json.loads(record.changes)
    assert audited["before"]["acknowledged_by"] is None
    assert audited["after"]["acknowledged_by"] == ALICE.name


def test_the_first_to_acknowledge_stays_named(gateway: Gateway) -> None:
    seen = {a.id: a.seen for a in list_anomalies(gateway)}
    acknowledge(gateway, seen, actor=ALICE)
    assert acknowledge(gateway, seen, actor=BOB).record_id is None
    assert {a.acknowledged_by for a in list_anomalies(gateway, open_only=False)} == {ALICE.name}


@pytest.mark.parametrize(
    "statement",
    [
        delete(Anomaly).where(Anomaly.subject == "transfer:0x02"),
        update(Anomaly).where(Anomaly.subject == "transfer:0x02").values(event_ids=["a", "b"]),
        update(Anomaly).where(Anomaly.subject == "transfer:0x02").values(last_at=NOON),
    ],
)
def test_what_changed_meanwhile_is_not_acknowledged_nor_the_others(gateway: Gateway, statement: Any) -> None:
    seen = {a.id: a.seen for a in list_anomalies(gateway)}
    change(gateway, statement)
    with pytest.raises(Conflict):
        acknowledge(gateway, seen, actor=ALICE)
    assert all(a.acknowledged_at is None for a in list_anomalies(gateway))


def test_a_pool_is_told_of_again_with_every_transfer(gateway: Gateway) -> None:
    """So its figures and time do not stand in the way."""
    pool = list_anomalies(gateway)[0]
    of_pool = update(Anomaly).where(Anomaly.id == pool.id)
    change(gateway, of_pool.values(detail="the balance is -7", last_at=NOON + timedelta(hours=1)))
    assert acknowledge(gateway, {pool.id: pool.seen}, actor=ALICE).record_id == 1
