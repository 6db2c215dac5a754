"""The estimate service: configuration from the snapshot, pools and fees read afresh, every code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, insert

from app.domain.codes import BridgeType, ErrCode, Reason
from app.domain.errors import Unavailable
from app.domain.estimate import Estimate, EstimateRefused
from app.domain.estimate_inputs import EstimateRequest, PoolState
from app.models.engine import writing
from app.models.pools import FedFee, PoolCounter, PoolVolume
from app.models.transfers import Transfer
from app.queries.estimate_facts import Epoch
from app.services.estimate import estimate_inputs, estimate_transfer, explain_estimate
from app.services.gateway import Gateway, current_gateway
from app.services.network_document import import_network
from app.services.network_snapshot import NetworkSnapshots
from tests.services.network_kit import VILLAIN, changed, network, text

NOON = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
VECTOR = json.loads(Path("tests/contract/vectors/estimate_usdt_1_to_56.json").read_text())
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


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    """A gateway at noon, half a minute later, on the small network."""
    gateway = replace(current_gateway(), clock=lambda: NOON)
    import_network(gateway, text(network()))
    return gateway


def configure(gateway: Gateway, path: str, value: Any) -> None:
    import_network(gateway, text(changed(path, value)))


def write(gateway: Gateway, model: type[Any], **values: Any) -> None:
    with writing(gateway.engine) as connection:
        connection.execute(insert(model).values(**values))


def move(gateway: Gateway, chain_id: int, **counters: int) -> None:
    zero = {"added": 0, "sent": 0, "relayed": 0, "withdrawn": 0}
    write(gateway, PoolCounter, chain_id=chain_id, symbol="USDT", **(zero | counters))


def feed_fee(gateway: Gateway, fee: int, at: datetime) -> None:
    way = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56}
    write(gateway, FedFee, **way, base_fee=fee, at=at, event_id="fee")


def send(gateway: Gateway, number: int, sent_at: datetime | None, **changes: Any) -> None:
    values = {
        "transfer_id": number.to_bytes(32, "big"), "status": 1, "refund_reason": 0, "kind": "pool",
        "src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": 10**30 + number,
        "sent_at": sent_at, "updated_at": NOON,
    }  # fmt: skip
    write(gateway, Transfer, **(values | changes))


def answer(gateway: Gateway, request: EstimateRequest | None = None) -> Estimate:
    return estimate_transfer(gateway, request or ask(), None, None)


def test_the_recorded_estimate_comes_out_exact(gateway: Gateway) -> None:
    document = network()
    document["routes"][0] |= {"perc_fee_tiers": [{"from": "0", "ppm": 0}]}
    document["chains"][0]["minimal_max_slippage"] = 0
    import_network(gateway, text(document))
    asked, exact = VECTOR["request"], VECTOR["exact"]
    estimate = answer(gateway, EstimateRequest(**(asked | {"amt": int(asked["amt"])})))
    assert estimate.eq_value_token_amt == int(exact["eq_value_token_amt"])
    assert estimate.estimated_receive_amt == int(exact["estimated_receive_amt"])
    assert estimate.max_slippage == exact["max_slippage"]
    assert (estimate.base_fee, estimate.perc_fee) == (FIXED_FEE, 0)


def test_configured_terms_price_a_pool_transfer(gateway: Gateway) -> None:
    estimate = answer(gateway)
    assert estimate.bridge_type is BridgeType.POOL
    assert estimate.eq_value_token_amt == 100_000_100 * 10**12
    assert estimate.perc_fee == 100_000_100 * 10**12 * 400 // 10**6
    assert estimate.estimated_receive_amt == estimate.eq_value_token_amt - estimate.perc_fee - FIXED_FEE
    assert estimate.slippage_tolerance == 5000


def test_the_minimum_of_the_source_chain_and_the_gas_of_the_destination_count(gateway: Gateway) -> None:
    document = network()
    document["chains"][0]["minimal_max_slippage"] = 400_000
    document["chains"][2]["drop_gas_amt"] = "77"
    import_network(gateway, text(document))
    estimate = answer(gateway)
    assert (estimate.max_slippage, estimate.drop_gas_amt) == (400_000, 77)


@pytest.mark.parametrize(
    ("src", "dst", "kind", "fee"),
    [
        (1, 10, BridgeType.DEPOSIT_MINT, 7),
        (10, 1, BridgeType.BURN_WITHDRAW, 8),
        (10, 56, BridgeType.BURN_MINT, 7),
    ],
)
def test_pegged_transfers_are_found_from_the_pairs(
    gateway: Gateway, src: int, dst: int, kind: BridgeType, fee: int
) -> None:
    for asked in (None, True):
        estimate = answer(gateway, celr(src, dst, is_pegged=asked, slippage_tolerance=0))
        assert (estimate.bridge_type, estimate.base_fee, estimate.max_slippage) == (kind, fee, 0)
        assert estimate.perc_fee == 10**18 * 500 // 10**6


def test_pools_are_opening_values_and_what_events_moved(gateway: Gateway) -> None:
    move(gateway, 1, added=10, sent=-20, relayed=30, withdrawn=-40)
    move(gateway, 56, added=2**256, relayed=1)
    inputs = estimate_inputs(gateway, ask(), None, None)
    opening = 5_000_000_000_000
    assert inputs.src_pool == PoolState(
        added=opening + 10, sent=-20, relayed=30, withdrawn=-40,
        total_cap=9_000_000_000_000, epoch_cap=None, epoch_volume=0, epoch_seconds=3600,
    )  # fmt: skip
    assert inputs.dst_pool is not None
    assert (inputs.dst_pool.added, inputs.dst_pool.relayed) == (opening * 10**12 + 2**256, 1)


def test_a_fed_fee_outranks_the_configured_one(gateway: Gateway) -> None:
    feed_fee(gateway, 2**255, NOON - timedelta(days=9))
    inputs = estimate_inputs(gateway, ask(), None, None)
    assert inputs.route is not None
    assert (inputs.route.base_fee.amount, inputs.route.base_fee.fed) == (2**255, True)
    other = estimate_inputs(gateway, ask(src_chain_id=56, dst_chain_id=1), None, None)
    assert other.route is not None
    assert not other.route.base_fee.fed


def test_an_epoch_of_whole_minutes_sums_minutes(gateway: Gateway) -> None:
    configure(gateway, "pools.0.epoch_cap", "5")
    start = int(NOON.timestamp()) // 3600 * 60
    for minute, amount in ((start - 1, 1), (start, 20), (start + 59, 2**256), (start + 60, 300)):
        write(gateway, PoolVolume, chain_id=1, symbol="USDT", minute=minute, amount=amount)
    write(gateway, PoolVolume, chain_id=1, symbol="CELR", minute=start, amount=4000)
    write(gateway, PoolVolume, chain_id=56, symbol="USDT", minute=start, amount=5000)
    inputs = estimate_inputs(gateway, ask(), None, None)
    assert inputs.src_pool is not None
    assert inputs.src_pool.epoch_volume == 20 + 2**256


def test_any_other_epoch_sums_the_sends_themselves(gateway: Gateway) -> None:
    document = network()
    document["pools"][0] |= {"epoch_cap": "5", "epoch_seconds": 45}
    import_network(gateway, text(document))
    start = datetime.fromtimestamp(int(NOON.timestamp()) // 45 * 45, UTC)
    tick = timedelta(microseconds=1)
    send(gateway, 1, start)
    send(gateway, 2, start + timedelta(seconds=45) - tick)
    send(gateway, 3, start - tick)
    send(gateway, 4, start + timedelta(seconds=45))
    send(gateway, 5, None)
    send(gateway, 6, start, kind="burn")
    send(gateway, 7, start, symbol="CELR")
    send(gateway, 8, start, src_chain_id=10)
    inputs = estimate_inputs(gateway, ask(), None, None)
    assert inputs.src_pool is not None
    assert inputs.src_pool.epoch_volume == 2 * 10**30 + 3


@pytest.mark.parametrize(
    "moment", [NOON, NOON.replace(microsecond=999_999), datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)]
)
@pytest.mark.parametrize("seconds", [1, 45, 60, 3600, 86_400])
def test_now_is_in_its_epoch(moment: datetime, seconds: int) -> None:
    epoch = Epoch.at(moment, seconds)
    assert epoch.start % seconds == 0
    assert epoch.end - epoch.start == seconds
    unix = (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    assert epoch.start <= unix < epoch.end


def test_facts_are_one_statement_and_only_where_they_count(gateway: Gateway) -> None:
    gateway = replace(gateway, snapshots=NetworkSnapshots(gateway.engine, 30))
    configure(gateway, "pools.0.epoch_cap", str(10**12))
    gateway.snapshots.current()
    statements: list[str] = []
    event.listen(gateway.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    answer(gateway)
    assert len(statements) == 1
    statements.clear()
    answer(gateway, celr(1, 10))
    with pytest.raises(EstimateRefused):
        answer(gateway, ask(dst_chain_id=10**6))
    assert statements == []


def test_an_old_configuration_is_no_estimate(gateway: Gateway) -> None:
    class Lost(NetworkSnapshots):
        def current(self) -> Any:
            raise Unavailable("lost")

    with pytest.raises(Unavailable):
        answer(replace(gateway, snapshots=Lost(gateway.engine, 0)))


def test_an_explanation_has_the_same_answer(gateway: Gateway) -> None:
    assert explain_estimate(gateway, ask(), None, None) is not None
    assert explain_estimate(gateway, ask(amt=0), None, None) is not None


Change = Callable[[Gateway], None]
BLOCK = {
    "symbol": "USDT",
    "src_chain_id": 1,
    "dst_chain_id": 56,
    "both_directions": False,
    "reason": "secret",
}
NOTHING: Change = lambda gateway: None  # noqa: E731

REFUSED: dict[str, tuple[Change, EstimateRequest, int, Reason]] = {
    "same chain": (NOTHING, ask(dst_chain_id=1), 500, Reason.SAME_CHAIN),
    "same chain, unknown": (NOTHING, ask(src_chain_id=7, dst_chain_id=7), 500, Reason.SAME_CHAIN),
    "source unknown": (NOTHING, ask(src_chain_id=0), 500, Reason.CHAIN_UNKNOWN),
    "destination unknown": (NOTHING, ask(dst_chain_id=2**32 - 1), 500, Reason.CHAIN_UNKNOWN),
    "source disabled": (
        lambda g: configure(g, "chains.0.disabled", True), ask(), 500, Reason.CHAIN_DISABLED,
    ),
    "destination disabled": (
        lambda g: configure(g, "chains.2.disabled", True), ask(), 500, Reason.CHAIN_DISABLED,
    ),
    "token unknown": (NOTHING, ask(token_symbol="usdt"), 1002, Reason.TOKEN_NOT_ON_SRC),
    "token not on the destination": (
        lambda g: configure(g, "tokens.6", token_on(1)),
        ask(token_symbol="USDC"), 1001, Reason.TOKEN_NOT_ON_DST,
    ),
    "no route": (NOTHING, ask(src_chain_id=10), 1001, Reason.NO_ROUTE),
    "no pair": (NOTHING, ask(is_pegged=True), 1001, Reason.NO_PEGGED_PAIR),
    "pegged, asked as a pool transfer": (NOTHING, celr(1, 10, is_pegged=False), 1001, Reason.NO_ROUTE),
    "token disabled on the source": (
        lambda g: configure(g, "tokens.0.xfer_disabled", True), ask(), 1009, Reason.TRANSFER_DISABLED,
    ),
    "token disabled on the destination": (
        lambda g: configure(g, "tokens.2.xfer_disabled", True), ask(), 1009, Reason.TRANSFER_DISABLED,
    ),
    "blocked both ways": (
        lambda g: configure(g, "route_blocks.0", BLOCK | {"both_directions": True}),
        ask(src_chain_id=56, dst_chain_id=1), 1009, Reason.TRANSFER_DISABLED,
    ),
    "blocked this way": (
        lambda g: configure(g, "route_blocks.0", BLOCK), ask(), 1016, Reason.DIRECTION_BLOCKED,
    ),
    "pegged, blocked": (
        lambda g: configure(g, "route_blocks.0", BLOCK | {"symbol": "CELR"}),
        celr(1, 56), 1016, Reason.DIRECTION_BLOCKED,
    ),
    "nothing sent": (NOTHING, ask(amt=0), 500, Reason.AMOUNT_ZERO),
    "tolerance 0": (NOTHING, ask(slippage_tolerance=0), 1012, Reason.BAD_SLIPPAGE_TOLERANCE),
    "tolerance 100 %": (NOTHING, ask(slippage_tolerance=10**6), 1012, Reason.BAD_SLIPPAGE_TOLERANCE),
    "over the inbound limit": (
        lambda g: move(g, 1, withdrawn=5_000_000_000_000 - 100 * USDT + 1),
        ask(), 1005, Reason.INBOUND_LIMIT,
    ),
    "over the epoch cap": (lambda g: fill_epoch(g, 1), ask(), 1005, Reason.EPOCH_CAP),
    "over the total cap": (
        lambda g: move(g, 1, sent=4_000_000_000_000 - 100 * USDT + 1), ask(), 1017, Reason.TOTAL_CAP,
    ),
    "too little at the destination": (
        lambda g: move(g, 56, withdrawn=5_000_000_000_000 * 10**12 - 99 * 10**18),
        ask(), 1004, Reason.NOT_ENOUGH_LIQUIDITY,
    ),
    "an empty side of a curve": (
        lambda g: move(g, 10, relayed=5_000_000_000_000),
        ask(dst_chain_id=10), 1004, Reason.NOT_ENOUGH_LIQUIDITY,
    ),
    "fees eat it": (NOTHING, ask(amt=1), 500, Reason.AMOUNT_TOO_SMALL),
    "slippage over all": (
        lambda g: configure(g, "routes.0.rate.value", "0.01"),
        ask(amt=61 * USDT, slippage_tolerance=999_999), 1012, Reason.SLIPPAGE_TOO_HIGH,
    ),
}  # fmt: skip


def token_on(chain_id: int) -> dict[str, Any]:
    return network()["tokens"][0] | {"chain_id": chain_id, "symbol": "USDC"}


def fill_epoch(gateway: Gateway, over: int) -> None:
    configure(gateway, "pools.0.epoch_cap", str(1000 * USDT))
    minute = int(NOON.timestamp()) // 60
    write(gateway, PoolVolume, chain_id=1, symbol="USDT", minute=minute, amount=900 * USDT + over)


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_its_code(gateway: Gateway, case: str) -> None:
    change, request, code, reason = REFUSED[case]
    change(gateway)
    with pytest.raises(EstimateRefused) as refused:
        answer(gateway, request)
    assert (refused.value.code, refused.value.reason) == (code, reason)
    assert refused.value.msg
    assert "secret" not in refused.value.msg


EQUAL: dict[str, Change] = {
    "inbound limit": lambda g: move(g, 1, withdrawn=5_000_000_000_000 - 100 * USDT),
    "epoch cap": lambda g: fill_epoch(g, 0),
    "total cap": lambda g: move(g, 1, sent=4_000_000_000_000 - 100 * USDT),
    "a block of the other way": lambda g: configure(
        g, "route_blocks.0", BLOCK | {"src_chain_id": 56, "dst_chain_id": 1}
    ),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_to_a_limit_passes(gateway: Gateway, case: str) -> None:
    EQUAL[case](gateway)
    assert answer(gateway).eq_value_token_amt


def test_exactly_what_the_destination_holds_passes(gateway: Gateway) -> None:
    receive = answer(gateway).estimated_receive_amt
    opening = 5_000_000_000_000 * 10**12
    move(gateway, 56, withdrawn=opening - receive)
    assert answer(gateway).estimated_receive_amt == receive
    with pytest.raises(EstimateRefused):
        answer(gateway, ask(amt=100 * USDT + 1))


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        ("203.0.113.9", 1018),
        ("::ffff:203.0.113.9", 1018),
        ("2001:db8:1::1", 1018),
        ("203.0.114.9", None),
        (None, None),
    ],
)
def test_blocked_networks(gateway: Gateway, caller: str | None, code: int | None) -> None:
    address = ip_address(caller) if caller else None
    if code is None:
        assert estimate_transfer(gateway, ask(), None, address)
        return
    with pytest.raises(EstimateRefused) as refused:
        estimate_transfer(gateway, ask(src_chain_id=0), VILLAIN, address)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("account", "blocked"),
    [(VILLAIN, True), (VILLAIN.lower(), True), (VILLAIN.upper(), True), (VILLAIN[:-1], False), ("", False)],
)
def test_blocked_addresses(gateway: Gateway, account: str, blocked: bool) -> None:
    if not blocked:
        assert estimate_transfer(gateway, ask(), account, None)
        return
    with pytest.raises(EstimateRefused) as refused:
        estimate_transfer(gateway, ask(src_chain_id=0), account, None)
    assert refused.value.code == ErrCode.ERROR_CODE_ADDRESS_BLOCKED


def test_blocks_end_at_their_time(gateway: Gateway) -> None:
    later = replace(gateway, clock=lambda: datetime(2027, 1, 1, tzinfo=UTC))
    assert estimate_transfer(later, ask(), None, ip_address("203.0.113.9"))


def test_a_base_fee_that_is_too_old_is_not_quoted(gateway: Gateway) -> None:
    configure(gateway, "routes.0.base_fee_max_age_seconds", 60)

    def after(seconds: float) -> Gateway:
        return replace(gateway, clock=lambda: NOON + timedelta(seconds=seconds))

    assert answer(after(60))
    with pytest.raises(EstimateRefused) as refused:
        answer(after(60.000001))
    assert refused.value.reason is Reason.FEE_STALE
    feed_fee(gateway, 5, NOON + timedelta(seconds=1))
    assert answer(after(61)).base_fee == 5
    with pytest.raises(EstimateRefused) as refused:
        answer(after(61.000001))
    assert refused.value.reason is Reason.FEE_STALE
