"""Requests for estimates on the small network, and ways to move what they depend on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Flask
from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolCounter, ReportedFee
from app.estimates.rules.checks import Estimate
from app.estimates.rules.inputs import EstimateRequest
from app.estimates.services import EstimateCounts, estimate_transfer
from app.http.application import part_of
from app.network.document import import_network
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services.network_kit import changed, text

NOON = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
USDT = 10**6


def query(**changes: Any) -> EstimateRequest:
    """A hundred USDT from Ethereum to BNB Chain at 0.5 %."""
    values: dict[str, Any] = {
        "src_chain_id": 1,
        "dst_chain_id": 56,
        "token_symbol": "USDT",
        "amt": 100 * USDT,
        "slippage_tolerance": 5000,
    }
    return EstimateRequest(**(values | changes))


def celr(src: int, dst: int, **changes: Any) -> EstimateRequest:
    return query(token_symbol="CELR", src_chain_id=src, dst_chain_id=dst, amt=10**18, **changes)


def configure(editing: Editing, path: str, value: Any) -> None:
    import_network(*editing, text(changed(path, value)), actor=TESTER)


def write(database: Database, model: type[Any], **values: Any) -> None:
    with writing(database.engine) as connection:
        connection.execute(insert(model).values(**values))


def move(database: Database, chain_id: int, **counters: int) -> None:
    zero = {"added": 0, "sent": 0, "relayed": 0, "withdrawn": 0}
    write(database, PoolCounter, chain_id=chain_id, symbol="USDT", **(zero | counters))


def feed_fee(database: Database, fee: int, at: datetime) -> None:
    route_key = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56}
    write(database, ReportedFee, **route_key, base_fee=fee, at=at, event_id="fee")


def send(database: Database, number: int, sent_at: datetime | None, **changes: Any) -> None:
    values = {
        "transfer_id": number.to_bytes(32, "big"), "status": 1, "refund_reason": 0, "kind": "pool",
        "src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": 10**30 + number,
        "sent_at": sent_at, "updated_at": NOON,
    }  # fmt: skip
    write(database, Transfer, **(values | changes))


def answer(app: Flask, request: EstimateRequest | None = None) -> Estimate:
    return estimate_transfer(
        part_of(app, Database),
        part_of(app, SnapshotSource),
        part_of(app, EstimateCounts),
        request or query(),
        None,
        None,
    )
