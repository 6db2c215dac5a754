"""Requests for estimates on the small network, and ways to move what they depend on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert

from app.db.engine import writing
from app.estimates.models import PoolCounter, ReportedFee
from app.estimates.rules.checks import Estimate
from app.estimates.rules.inputs import EstimateRequest
from app.estimates.services import estimate_transfer
from app.network.document import import_network
from app.transfers.models import Transfer
from tests.actors import TESTER
from tests.gateway import Gateway
from tests.network.services.network_kit import changed, text

NOON = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
USDT = 10**6
FIXED_FEE = 605437528092011966


def ask(**changes: Any) -> EstimateRequest:
    """A hundred USDT from Ethereum to BNB Chain at 0.5 %."""
    values = {
        "src_chain_id": 1,
        "dst_chain_id": 56,
        "token_symbol": "USDT",
        "amt": 100 * USDT,
        "slippage_tolerance": 5000,
    }
    return EstimateRequest(**(values | changes))


def celr(src: int, dst: int, **changes: Any) -> EstimateRequest:
    return ask(token_symbol="CELR", src_chain_id=src, dst_chain_id=dst, amt=10**18, **changes)


def configure(gateway: Gateway, path: str, value: Any) -> None:
    import_network(*gateway.editing, text(changed(path, value)), actor=TESTER)


def write(gateway: Gateway, model: type[Any], **values: Any) -> None:
    with writing(gateway.engine) as connection:
        connection.execute(insert(model).values(**values))


def move(gateway: Gateway, chain_id: int, **counters: int) -> None:
    zero = {"added": 0, "sent": 0, "relayed": 0, "withdrawn": 0}
    write(gateway, PoolCounter, chain_id=chain_id, symbol="USDT", **(zero | counters))


def feed_fee(gateway: Gateway, fee: int, at: datetime) -> None:
    route_key = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56}
    write(gateway, ReportedFee, **route_key, base_fee=fee, at=at, event_id="fee")


def send(gateway: Gateway, number: int, sent_at: datetime | None, **changes: Any) -> None:
    values = {
        "transfer_id": number.to_bytes(32, "big"), "status": 1, "refund_reason": 0, "kind": "pool",
        "src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": 10**30 + number,
        "sent_at": sent_at, "updated_at": NOON,
    }  # fmt: skip
    write(gateway, Transfer, **(values | changes))


def answer(gateway: Gateway, request: EstimateRequest | None = None) -> Estimate:
    return estimate_transfer(
        gateway.database, gateway.snapshots, gateway.estimate_counts, request or ask(), None, None
    )
