"""The story through the feed, on both databases: nothing refused, and the rows are as reported."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection, insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter, ReportedFee
from app.feed.services.ingest import IngestResult, Intake, ingest_lines
from app.http.application import part_of
from app.latency.models import LatencyRecord
from app.network.models import Chain, OpeningValidator, PeggedPair, Token
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from app.sandbox.feed import fresh_events
from app.transfers.models import Refund, Transfer
from tests.applications import change_part
from tests.sandbox.conftest import NOW, Reported

AMOUNTS = ("drop_gas_amt", "power", "deposit_base_fee", "burn_base_fee")


@pytest.fixture
def app(app: Flask, document: Reported) -> Flask:
    change_part(app, Database, clock=lambda: NOW)
    with writing(part_of(app, Database).engine) as connection:
        configure(connection, document)
    return app


def configure(connection: Connection, document: Reported) -> None:
    """What a projection reads of the network document, straight into its tables."""
    tables = {"chains": Chain, "tokens": Token, "pegged_pairs": PeggedPair, "validators": OpeningValidator}
    for name, table in tables.items():
        for item in document[name]:
            row = {key: int(value) if key in AMOUNTS else value for key, value in item.items()}
            if table is Chain:
                row["chain_id"] = row.pop("id")
            if table is PeggedPair:
                row["perc_fee_tiers"] = tuple((int(t["from"]), t["ppm"]) for t in item["perc_fee_tiers"])
            connection.execute(insert(table).values(**row))


def feed(app: Flask, reported: Iterable[Reported]) -> IngestResult:
    return ingest_lines(
        part_of(app, Database),
        part_of(app, Intake),
        (json.dumps(each).encode() for each in reported),
        "sandbox",
    )


def rows(database: Database, *columns: Any) -> list[Any]:
    with reading(database.engine) as connection:
        return list(connection.execute(select(*columns)))


def test_gateway_accepts_whole_story(app: Flask, database: Database, reported: list[Reported]) -> None:
    verdict = feed(app, reported)
    assert (verdict.accepted, verdict.repeated, verdict.refused) == (len(reported), 0, [])
    stored = {
        f"0x{row.transfer_id.hex()}": (row.status, row.refund_reason)
        for row in rows(database, Transfer.transfer_id, Transfer.status, Transfer.refund_reason)
    }
    assert {entry.transfer_id: stored[entry.transfer_id] for entry in SANDBOX_TRANSFERS} == {
        entry.transfer_id: (entry.status, entry.refund_reason) for entry in SANDBOX_TRANSFERS
    }
    assert len(rows(database, Refund.transfer_id)) == 3
    pools = {
        (row.chain_id, row.symbol): (row.added, row.sent, row.relayed, row.withdrawn)
        for row in rows(database, *PoolCounter.__table__.columns)
    }
    assert pools[10, "USDT"] == (150_000 * 10**6, 0, 0, 50_000 * 10**6), "its one send was taken back"
    assert not any(pools.get((42161, "USDT"), ())), "its one send was refunded"
    assert pools[137, "USDT"] == (0, 3_040 * 10**6, 0, 0)
    assert all(min(counters) >= 0 for counters in pools.values())
    assert len(rows(database, ReportedFee.event_id)) == 2


def test_topping_up_adds_and_never_contradicts(
    app: Flask, database: Database, reported: list[Reported]
) -> None:
    feed(app, reported)
    before = len(rows(database, LatencyRecord.transfer_id))
    later = NOW + timedelta(days=1, hours=5)
    change_part(app, Database, clock=lambda: later)
    topped_up = list(fresh_events(later, NOW - timedelta(days=1)))
    verdict = feed(app, topped_up)
    assert verdict.refused == []
    assert verdict.repeated > 0
    assert verdict.accepted + verdict.repeated == len(topped_up)
    assert len(rows(database, LatencyRecord.transfer_id)) - before >= 8 * 8, "eight pairs, a day of slots"
    verdict = feed(app, topped_up)
    assert (verdict.accepted, verdict.repeated) == (0, len(topped_up))
