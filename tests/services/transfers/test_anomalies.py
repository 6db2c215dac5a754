"""Anomalies as operators work through them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Row, delete, insert, select, update

from app.models.anomalies import Anomaly
from app.models.audit import AuditRecord
from app.models.engine import reading, writing
from app.runtime.gateway import Gateway, current_gateway
from app.services.audit.results import Conflict
from app.services.transfers.anomalies import acknowledge, fingerprint_of
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


def listed(gateway: Gateway) -> list[Row[Any]]:
    """Every anomaly, the newest first."""
    with reading(gateway.engine) as connection:
        return list(connection.execute(select(Anomaly.__table__).order_by(Anomaly.last_at.desc())))


def fingerprints(gateway: Gateway) -> dict[int, str]:
    """What an operator is shown of each, by id."""
    return {row.id: fingerprint_of(row) for row in listed(gateway)}


def change(gateway: Gateway, statement: Any) -> None:
    with writing(gateway.engine) as connection:
        connection.execute(statement)


def test_one_is_acknowledged_and_the_others_wait(gateway: Gateway) -> None:
    assert [row.subject for row in listed(gateway)] == ["pool:1:USDT", "transfer:0x02", "transfer:0x01"]
    first = listed(gateway)[-1]
    assert first.transfer_id == TRANSFER
    saved = acknowledge(gateway, {first.id: fingerprint_of(first)}, actor=ALICE)
    assert [(row.acknowledged_at, row.acknowledged_by) for row in listed(gateway)] == [
        (None, None),
        (None, None),
        (NOON, ALICE.name),
    ]
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
    shown = fingerprints(gateway)
    acknowledge(gateway, shown, actor=ALICE)
    assert acknowledge(gateway, shown, actor=BOB).record_id is None
    assert {row.acknowledged_by for row in listed(gateway)} == {ALICE.name}


@pytest.mark.parametrize(
    "statement",
    [
        delete(Anomaly).where(Anomaly.subject == "transfer:0x02"),
        update(Anomaly).where(Anomaly.subject == "transfer:0x02").values(event_ids=["a", "b"]),
        update(Anomaly).where(Anomaly.subject == "transfer:0x02").values(last_at=NOON),
    ],
)
def test_what_changed_meanwhile_is_not_acknowledged_nor_the_others(gateway: Gateway, statement: Any) -> None:
    shown = fingerprints(gateway)
    change(gateway, statement)
    with pytest.raises(Conflict):
        acknowledge(gateway, shown, actor=ALICE)
    assert all(row.acknowledged_at is None for row in listed(gateway))


def test_a_pool_under_zero_may_change_its_figures_meanwhile(gateway: Gateway) -> None:
    """It is found again with every transfer, so its figures and time are not compared."""
    pool = listed(gateway)[0]
    of_pool = update(Anomaly).where(Anomaly.id == pool.id)
    change(gateway, of_pool.values(detail="the balance is -7", last_at=NOON + timedelta(hours=1)))
    assert acknowledge(gateway, {pool.id: fingerprint_of(pool)}, actor=ALICE).record_id == 1
