"""Events from before ids had subjects get theirs, and go back, with rows as a gateway writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import downgrade, upgrade

from app import create_app
from app.db.models import db
from app.feed.services.ingest import ingest_lines
from app.feed.services.reprojection import replay
from tests.actors import TESTER
from tests.applications import close_connections, make_settings
from tests.databases import BACKENDS, new_postgres_database
from tests.gateway import current_gateway

AT = datetime(2026, 5, 1, tzinfo=UTC)
TRANSFER = bytes.fromhex("ab" * 32)
OTHER = bytes.fromhex("cd" * 32)
LONG = "1:" + "x" * 200


@pytest.fixture(params=BACKENDS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """An application on a database of the revision before subjects."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    if request.param == "postgresql":
        url = new_postgres_database(request.getfixturevalue("postgres_server"))
    application = create_app(make_settings(url))
    with application.app_context():
        upgrade(directory="migrations", revision="0009")
        yield application
        close_connections()


def table(name: str) -> sa.Table:
    return sa.Table(name, sa.MetaData(), autoload_with=db.engine)


def insert(name: str, *rows: dict[str, Any]) -> None:
    with db.engine.begin() as connection:
        for row in rows:
            connection.execute(table(name).insert(), [row])


def rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
    found = table(name)
    with db.engine.connect() as connection:
        return [
            tuple(row)
            for row in connection.execute(sa.select(*(found.c[c] for c in columns)).order_by(*columns))
        ]


def event(seq: int, event_id: str, event_type: str, **fields: Any) -> dict[str, Any]:
    at = AT if db.engine.dialect.name == "postgresql" else AT.replace(tzinfo=None)
    body = {"at": AT.isoformat(), **fields}
    transfer_id = body.get("transfer_id")
    return {
        "seq": seq,
        "event_id": event_id,
        "occurrence": 0,
        "type": event_type,
        "at": at,
        "received_at": at,
        "reporter": "test",
        "transfer_id": bytes.fromhex(transfer_id) if transfer_id else None,
        "chain_id": body.get("chain_id"),
        "block": body.get("block"),
        "body": json.dumps(dict(sorted(body.items())), separators=(",", ":")),
    }


def submitted(seq: int, event_id: str, transfer_id: bytes) -> dict[str, Any]:
    return event(seq, event_id, "transfer.submitted", transfer_id=transfer_id.hex(), src_chain_id=1)


def line(event_id: str, event_type: str, **fields: Any) -> bytes:
    return json.dumps({"id": event_id, "type": event_type, "at": AT.isoformat(), **fields}).encode()


@pytest.mark.soak("a schema that goes down and up; only migrations change it")
def test_rows_of_a_gateway_go_up_and_down(old: Flask) -> None:
    insert(
        "events",
        submitted(1, "a", TRANSFER),
        submitted(2, "r", OTHER),
        event(3, "b", "chain.head", chain_id=56, block=7),
        event(4, "f", "fee.updated", symbol='A:"é', src_chain_id=1, dst_chain_id=56, base_fee="1"),
        event(5, "undo", "events.retracted", targets=["r"], reason="wrong"),
    )
    insert("retracted_events", {"event_id": "r", "seq": 5, "transfer_id": OTHER})
    at = AT if db.engine.dialect.name == "postgresql" else AT.replace(tzinfo=None)
    anomaly = {"kind": "id_with_two_contents", "detail": "d", "first_at": at, "last_at": at}
    insert("anomalies", {"id": 1, "subject": "event:a", "event_ids": ["a"], **anomaly})
    insert("anomalies", {"id": 2, "subject": "pool:1:USDT", "event_ids": [], **anomaly})
    upgrade(directory="migrations")
    assert rows("events", "event_id", "subject") == [
        ("a", f"transfer:0x{TRANSFER.hex()}"),
        ("b", "chain:56"),
        ("f", 'route:1:56:A:"é'),
        ("r", f"transfer:0x{OTHER.hex()}"),
        ("undo", "operators"),
    ]
    assert rows("retracted_events", "event_id", "subject") == [("r", f"transfer:0x{OTHER.hex()}")]
    assert sorted(rows("anomalies", "subject", "transfer_id"), key=repr) == [
        (f"event:transfer:0x{TRANSFER.hex()}:a", TRANSFER),
        ("pool:1:USDT", None),
    ]
    gateway = current_gateway()
    replay(*gateway.audited, actor=TESTER)
    assert rows("transfers", "transfer_id", "status") == [(TRANSFER, 1), (OTHER, 0)]
    other_facts = [
        line("a", "transfer.submitted", transfer_id=OTHER.hex(), src_chain_id=1),
        line("a", "chain.head", chain_id=1, block=9, log_index=3),
        line(LONG, "refund.delayed", transfer_id=OTHER.hex(), delayed_id="d" * 64),
        line(LONG, "chain.head", chain_id=1, block=9),
    ]
    taken = ingest_lines(gateway.database, gateway.intake, other_facts, "test")
    assert (taken.accepted, taken.refused) == (4, [])
    close_connections()
    downgrade(directory="migrations", revision="0009")
    ids = rows("events", "seq", "event_id", "occurrence")
    assert [(event_id, occurrence) for _, event_id, occurrence in ids if event_id == "a"] == [
        ("a", 0),
        ("a", 1),
        ("a", 2),
    ]
    assert len(ids) == 8, "the delay of a refund, which the older code cannot read, is gone"
    assert max(len(event_id) for _, event_id, _ in ids) == 128
    bodies = [body for (body,) in rows("events", "body")]
    assert not any("log_index" in body or "subjects" in body for body in bodies)
    assert ("event:a", None) in rows("anomalies", "subject", "transfer_id")
    upgrade(directory="migrations")
    assert {row[2] for row in rows("events", "event_id", "subject", "occurrence") if row[0] == "a"} == {0}
