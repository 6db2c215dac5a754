"""What the estimate service refuses: every code, where configuration and facts decide it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace

from app.db.database import Database
from app.estimates.models import PoolVolume
from app.estimates.rules.checks import Estimate
from app.estimates.rules.inputs import EstimateRequest
from app.estimates.rules.refusals import EstimateRefused
from app.estimates.services import EstimateCounts, estimate_transfer
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.values.codes import Reason
from tests.applications import Editing, change_part, editing_of
from tests.builders import network as build
from tests.estimates.services.estimate_kit import (
    NOON,
    USDT,
    answer,
    celr,
    configure,
    feed_fee,
    move,
    query,
    write,
)
from tests.network.services.network_kit import network

Change = Callable[[Flask], None]
BLOCK = build.block(1, 56, reason="secret")
NOTHING: Change = lambda app: None  # noqa: E731


def token_on(chain_id: int) -> dict[str, Any]:
    return network()["tokens"][0] | {"chain_id": chain_id, "symbol": "USDC"}


def configured(path: str, value: Any) -> Change:
    return lambda app: configure(editing_of(app), path, value)


def moved(chain_id: int, **counters: int) -> Change:
    return lambda app: move(part_of(app, Database), chain_id, **counters)


REFUSED: dict[str, tuple[Change, EstimateRequest, int, Reason]] = {
    "source unknown": (NOTHING, query(src_chain_id=0), 500, Reason.CHAIN_UNKNOWN),
    "destination unknown": (NOTHING, query(dst_chain_id=2**32 - 1), 500, Reason.CHAIN_UNKNOWN),
    "source disabled": (
        configured("chains.0.disabled", True), query(), 500, Reason.CHAIN_DISABLED,
    ),
    "destination disabled": (
        configured("chains.2.disabled", True), query(), 500, Reason.CHAIN_DISABLED,
    ),
    "token unknown": (NOTHING, query(token_symbol="usdt"), 1002, Reason.TOKEN_NOT_ON_SRC),
    "token not on the destination": (
        configured("tokens.6", token_on(1)),
        query(token_symbol="USDC"), 1001, Reason.TOKEN_NOT_ON_DST,
    ),
    "no route": (NOTHING, query(src_chain_id=10), 1001, Reason.NO_ROUTE),
    "no pair": (NOTHING, query(is_pegged=True), 1001, Reason.NO_PEGGED_PAIR),
    "token disabled on the source": (
        configured("tokens.0.xfer_disabled", True), query(), 1009, Reason.TRANSFER_DISABLED,
    ),
    "token disabled on the destination": (
        configured("tokens.2.xfer_disabled", True), query(), 1009, Reason.TRANSFER_DISABLED,
    ),
    "blocked both ways": (
        configured("route_blocks.0", BLOCK | {"both_directions": True}),
        query(src_chain_id=56, dst_chain_id=1), 1009, Reason.TRANSFER_DISABLED,
    ),
    "blocked this way": (
        configured("route_blocks.0", BLOCK), query(), 1016, Reason.DIRECTION_BLOCKED,
    ),
    "pegged, blocked": (
        configured("route_blocks.0", BLOCK | {"symbol": "CELR"}),
        celr(1, 56), 1016, Reason.DIRECTION_BLOCKED,
    ),
    "over the inbound limit": (
        moved(1, withdrawn=5_000_000_000_000 - 100 * USDT + 1),
        query(), 1005, Reason.INBOUND_LIMIT,
    ),
    "over the epoch cap": (lambda app: fill_epoch(app, 1), query(), 1005, Reason.EPOCH_CAP),
    "over the total cap": (
        moved(1, sent=4_000_000_000_000 - 100 * USDT + 1), query(), 1017, Reason.TOTAL_CAP,
    ),
    "too little at the destination": (
        moved(56, withdrawn=5_000_000_000_000 * 10**12 - 99 * 10**18),
        query(), 1004, Reason.NOT_ENOUGH_LIQUIDITY,
    ),
    "an empty side of a curve": (
        moved(10, relayed=5_000_000_000_000),
        query(dst_chain_id=10), 1004, Reason.NOT_ENOUGH_LIQUIDITY,
    ),
    "slippage over all": (
        configured("routes.0.rate.value", "0.01"),
        query(amt=61 * USDT, slippage_tolerance=999_999), 1012, Reason.SLIPPAGE_TOO_HIGH,
    ),
}  # fmt: skip


def fill_epoch(app: Flask, over: int) -> None:
    configure(editing_of(app), "pools.0.epoch_cap", str(1000 * USDT))
    minute = int(NOON.timestamp()) // 60
    write(
        part_of(app, Database), PoolVolume, chain_id=1, symbol="USDT", minute=minute, amount=900 * USDT + over
    )


@pytest.mark.parametrize("case", REFUSED)
def test_estimate_refuses_with_code_and_reason(app: Flask, case: str) -> None:
    change, request, code, reason = REFUSED[case]
    change(app)
    with pytest.raises(EstimateRefused) as refused:
        answer(app, request)
    assert (refused.value.code, refused.value.reason) == (code, reason)
    assert refused.value.msg
    assert "secret" not in refused.value.msg


def test_blocks_end_at_their_time(
    database: Database, snapshots: SnapshotSource, estimate_counts: EstimateCounts
) -> None:
    later = replace(database, clock=lambda: datetime(2027, 1, 1, tzinfo=UTC))
    assert estimate_transfer(later, snapshots, estimate_counts, query(), None, ip_address("203.0.113.9"))


def test_stale_base_fee_is_not_quoted(app: Flask, database: Database, editing: Editing) -> None:
    configure(editing, "routes.0.base_fee_max_age_seconds", 60)

    def after(seconds: float) -> Estimate:
        change_part(app, Database, clock=lambda: NOON + timedelta(seconds=seconds))
        return answer(app)

    assert after(60)
    with pytest.raises(EstimateRefused) as refused:
        after(60.000001)
    assert refused.value.reason is Reason.FEE_STALE
    feed_fee(database, 5, NOON + timedelta(seconds=1))
    assert after(61).base_fee == 5
    with pytest.raises(EstimateRefused) as refused:
        after(61.000001)
    assert refused.value.reason is Reason.FEE_STALE
