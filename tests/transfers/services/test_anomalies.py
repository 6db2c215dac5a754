"""Anomalies as operators work through them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, insert, select, update

from app.audit.models import AuditRecord
from app.audit.services import Conflict
from app.console.dashboard.dashboard import anomalies_to_acknowledge
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.transfers.models import Anomaly
from app.transfers.queries.anomalies import anomalies_of
from app.transfers.services.notes import acknowledge, anomaly_fingerprint
from app.values.identifiers import TransferId
from tests.applications import Audited, audited_of, change_part
from tests.network.services.edits.kit import ALICE, BOB

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRANSFER = TransferId(bytes(31) + b"\x01")


@pytest.fixture
def app(app: Flask) -> Flask:
    change_part(app, Database, clock=lambda: NOON)
    row: dict[str, Any] = {"detail": "d", "event_ids": ["a"], "first_at": NOON, "transfer_id": None}
    rows: list[dict[str, Any]] = [
        {"kind": "released_twice", "subject": "transfer:0x01", "transfer_id": TRANSFER},
        {"kind": "released_twice", "subject": "transfer:0x02"},
        {"kind": "pool_under_zero", "subject": "pool:1:USDT", "event_ids": []},
    ]
    with writing(part_of(app, Database).engine) as connection:
        for n, values in enumerate(rows):
            connection.execute(
                insert(Anomaly).values(row | values | {"last_at": NOON + timedelta(minutes=n)})
            )
    return app


def change(database: Database, statement: Any) -> None:
    with writing(database.engine) as connection:
        connection.execute(statement)


def shown_anomalies(database: Database) -> dict[str, tuple[int, str]]:
    """Id and fingerprint of every anomaly by its subject, as the console shows them."""
    with reading(database.engine) as connection:
        rows = connection.execute(select(Anomaly.__table__)).all()
    return {row.subject: (row.id, anomaly_fingerprint(row)) for row in rows}


def waiting(database: Database) -> list[str]:
    """The subjects of the anomalies that the dashboard lists, the newest first."""
    lines, count = anomalies_to_acknowledge(database)
    assert count.number == len(lines)
    return [line.subject for line in lines]


def acknowledged(database: Database) -> dict[str, tuple[datetime | None, str | None]]:
    """When each anomaly was acknowledged and by whom, by its subject."""
    with reading(database.engine) as connection:
        rows = connection.execute(select(Anomaly.__table__)).all()
    return {row.subject: (row.acknowledged_at, row.acknowledged_by) for row in rows}


def test_they_are_listed_counted_and_acknowledged(app: Flask, database: Database) -> None:
    assert waiting(database) == ["pool:1:USDT", "transfer:0x02", "transfer:0x01"]
    with reading(database.engine) as connection:
        (first,) = anomalies_of(connection, TRANSFER)
    saved = acknowledge(*audited_of(app), {first.id: anomaly_fingerprint(first)}, actor=ALICE)
    with reading(database.engine) as connection:
        (first,) = anomalies_of(connection, TRANSFER)
    assert (first.acknowledged_at, first.acknowledged_by) == (NOON, ALICE.name)
    assert waiting(database) == ["pool:1:USDT", "transfer:0x02"]
    with reading(database.engine) as connection:
        (record,) = connection.execute(select(AuditRecord.__table__))
    assert (record.id, record.action, record.subject) == (
        saved.record_id,
        "anomaly.acknowledge",
        "transfer:0x01",
    )
    (audited,) = json.loads(record.changes)
    assert audited["before"]["acknowledged_by"] is None
    assert audited["after"]["acknowledged_by"] == ALICE.name


def test_first_acknowledgement_is_retained(database: Database, audited: Audited) -> None:
    fingerprints = dict(shown_anomalies(database).values())
    acknowledge(*audited, fingerprints, actor=ALICE)
    assert acknowledge(*audited, fingerprints, actor=BOB).record_id is None
    assert set(acknowledged(database).values()) == {(NOON, ALICE.name)}


@pytest.mark.parametrize(
    "statement",
    [
        delete(Anomaly).where(Anomaly.subject == "transfer:0x02"),
        update(Anomaly).where(Anomaly.subject == "transfer:0x02").values(event_ids=["a", "b"]),
        update(Anomaly).where(Anomaly.subject == "transfer:0x02").values(last_at=NOON),
    ],
)
def test_changed_anomaly_refuses_acknowledgement(
    database: Database, audited: Audited, statement: Any
) -> None:
    fingerprints = dict(shown_anomalies(database).values())
    change(database, statement)
    with pytest.raises(Conflict):
        acknowledge(*audited, fingerprints, actor=ALICE)
    assert set(acknowledged(database).values()) == {(None, None)}


def test_negative_pool_is_acknowledged_as_it_is(database: Database, audited: Audited) -> None:
    """Its figures and time may."""
    number, fingerprint = shown_anomalies(database)["pool:1:USDT"]
    of_pool = update(Anomaly).where(Anomaly.id == number)
    change(database, of_pool.values(detail="the balance is -7", last_at=NOON + timedelta(hours=1)))
    assert acknowledge(*audited, {number: fingerprint}, actor=ALICE).record_id == 1
