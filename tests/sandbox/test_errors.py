"""What the catalogue's errors rest on: the pools after the story, counted by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs

import pytest

from app.sandbox.catalogue import SANDBOX_ERRORS, SANDBOX_ESTIMATES, SandboxError
from app.values.codes import ErrCode, Reason

Reported = dict[str, Any]


@dataclass
class Pool:
    decimals: int
    total_cap: int | None
    epoch_cap: int | None
    added: int
    sent: int = 0
    relayed: int = 0
    withdrawn: int = 0

    @property
    def inbound_limit(self) -> int:
        return self.added - self.relayed - self.withdrawn

    @property
    def balance(self) -> int:
        return self.inbound_limit + self.sent

    def tokens(self, counter: str) -> Fraction:
        return Fraction(getattr(self, counter), 10**self.decimals)


Pools = dict[tuple[int, str], Pool]


@pytest.fixture(scope="module")
def pools(document: Reported, reported: list[Reported]) -> Pools:
    """Opening values and the story, counted from its lines alone."""
    decimals = {(token["chain_id"], token["symbol"]): token["decimal"] for token in document["tokens"]}
    counted = {
        (pool["chain_id"], pool["symbol"]): Pool(
            decimals[pool["chain_id"], pool["symbol"]],
            pool["total_cap"] and int(pool["total_cap"]),
            pool["epoch_cap"] and int(pool["epoch_cap"]),
            int(pool["liquidity_added"]),
        )
        for pool in document["pools"]
    }
    (reorg,) = [each for each in reported if each["type"] == "chain.reorged"]
    sends = {
        each["transfer_id"]: each
        for each in reported
        if each["type"] == "transfer.sent"
        and each["kind"] == "pool"
        and not (each["src_chain_id"] == reorg["chain_id"] and each["block"] == reorg["from_block"])
    }
    for send in sends.values():
        counted[send["src_chain_id"], send["symbol"]].sent += int(send["amount"])
    for each in reported:
        send = sends.get(each.get("transfer_id"))
        refunded = each["type"] == "refund.completed" or each.get("xfer_status") == 7
        if each["type"].startswith("liquidity."):
            pool = counted[each["chain_id"], each["symbol"]]
            counter = each["type"].removeprefix("liquidity.")
            setattr(pool, counter, getattr(pool, counter) + int(each["amount"]))
        elif send and each["type"] == "transfer.released":
            counted[send["dst_chain_id"], send["symbol"]].relayed += int(each["amount"])
        elif send and refunded:
            counted[send["src_chain_id"], send["symbol"]].sent -= int(send["amount"])
    return counted


# What the story sends, relays, adds and withdraws where no week of latencies runs: whole tokens.
BY_HAND = {
    (10, "USDT"): {"added": 900_000 + 150_000, "withdrawn": 50_000, "sent": 0, "relayed": 0},
    (137, "USDT"): {"added": 2_000_000, "withdrawn": 0, "sent": 2_400 + 640, "relayed": 0},
    (42161, "USDT"): {"added": 2_000_000, "withdrawn": 0, "sent": 425 - 425, "relayed": 0},
    (43114, "USDT"): {"added": 1_500_000, "withdrawn": 0, "sent": 0, "relayed": 0},
    (137, "USDC"): {"added": 1_500_000, "withdrawn": 0, "sent": 320, "relayed": 0},
    (8453, "USDC"): {"added": 1_200_000 + 80_000, "withdrawn": 0, "sent": 210 - 210, "relayed": 0},
    (43114, "USDC"): {"added": 1_000_000, "withdrawn": 0, "sent": 95, "relayed": 0},
    (10, "WETH"): {"added": 300, "withdrawn": 0, "sent": 0, "relayed": 0},
    (250, "WETH"): {"added": 20, "withdrawn": 0, "sent": 0, "relayed": 0},
    (8453, "WETH"): {"added": 600, "withdrawn": 0, "sent": Fraction("3.5")},
    (42161, "WETH"): {"added": 400, "withdrawn": 0, "sent": 0, "relayed": 0},
    (1, "BUSD"): {"added": 100_000, "withdrawn": 0, "sent": 45, "relayed": 0},
}


@pytest.mark.parametrize("key", BY_HAND, ids=str)
def test_counters_are_what_the_story_says(key: tuple[int, str], pools: Pools) -> None:
    assert {counter: pools[key].tokens(counter) for counter in BY_HAND[key]} == BY_HAND[key]


def test_no_pool_exceeds_balance_or_cap(pools: Pools) -> None:
    for key, pool in pools.items():
        assert 0 <= pool.inbound_limit <= pool.balance, key
        assert pool.total_cap is None or pool.balance < pool.total_cap, key
        assert pool.relayed * 100 <= pool.added, f"{key}: a week takes more than one hundredth"


def test_every_code_has_a_request(document: Reported) -> None:
    assert {error.code for error in SANDBOX_ERRORS} == set(ErrCode) - {ErrCode.ERROR_CODE_UNDEFINED}
    assert len({(error.query, error.caller) for error in SANDBOX_ERRORS}) == len(SANDBOX_ERRORS)
    chains = {chain["id"] for chain in document["chains"]}
    for entry in (*SANDBOX_ERRORS, *SANDBOX_ESTIMATES):
        asked = {name: value for name, (value,) in parse_qs(entry.query, strict_parsing=True).items()}
        assert {"src_chain_id", "dst_chain_id", "token_symbol", "amt", "slippage_tolerance"} <= set(asked)
        assert int(asked["src_chain_id"]) in chains
        assert asked["amt"].isdecimal()


def one(reason: Reason, nth: int = 0) -> tuple[SandboxError, int, int, str, int]:
    error = [error for error in SANDBOX_ERRORS if error.reason is reason][nth]
    asked = {name: value for name, (value,) in parse_qs(error.query).items()}
    return (
        error,
        int(asked["src_chain_id"]),
        int(asked["dst_chain_id"]),
        asked["token_symbol"],
        int(asked["amt"]),
    )


def route_of(document: Reported, symbol: str, src: int, dst: int) -> Reported:
    (route,) = [
        route
        for route in document["routes"]
        if (route["symbol"], route["src_chain_id"], route["dst_chain_id"]) == (symbol, src, dst)
    ]
    return dict(route)


def passes_inbound_epoch_and_total(pool: Pool, amount: int) -> tuple[bool, bool, bool]:
    """Each limit by itself; the epoch's volume is nothing where the story sends nothing."""
    return (
        amount <= pool.inbound_limit,
        pool.epoch_cap is None or amount <= pool.epoch_cap,
        pool.total_cap is None or pool.balance + amount <= pool.total_cap,
    )


def test_over_the_inbound_limit(document: Reported, pools: Pools) -> None:
    _, src, dst, symbol, amount = one(Reason.INBOUND_LIMIT)
    route_of(document, symbol, src, dst)
    assert pools[src, symbol].tokens("inbound_limit") == 1_000_000
    assert not passes_inbound_epoch_and_total(pools[src, symbol], amount)[0]


def test_over_the_epoch_cap(document: Reported, pools: Pools) -> None:
    _, src, dst, symbol, amount = one(Reason.EPOCH_CAP)
    route_of(document, symbol, src, dst)
    assert pools[src, symbol].sent == 0, "or the volume of an epoch would show"
    assert passes_inbound_epoch_and_total(pools[src, symbol], amount) == (True, False, True)


def test_over_the_total_cap(document: Reported, pools: Pools) -> None:
    _, src, dst, symbol, amount = one(Reason.TOTAL_CAP)
    route_of(document, symbol, src, dst)
    assert passes_inbound_epoch_and_total(pools[src, symbol], amount) == (True, True, False)


def test_too_little_on_the_other_side(document: Reported, pools: Pools) -> None:
    _, src, dst, symbol, amount = one(Reason.NOT_ENOUGH_LIQUIDITY)
    assert route_of(document, symbol, src, dst)["rate"]["model"] == "fixed"
    assert all(passes_inbound_epoch_and_total(pools[src, symbol], amount))
    assert pools[dst, symbol].balance < amount * 99 // 100, "both have 18 decimals; fees are under 1 %"
    _, src, dst, symbol, amount = one(Reason.NOT_ENOUGH_LIQUIDITY, 1)
    assert route_of(document, symbol, src, dst)["rate"]["model"] == "stableswap"
    assert all(passes_inbound_epoch_and_total(pools[src, symbol], amount))
    assert pools[dst, symbol].balance == 0


def test_stale_fee_stays_stale(document: Reported, reported: list[Reported], now: datetime) -> None:
    _, src, dst, symbol, _ = one(Reason.FEE_STALE)
    reported = [
        each
        for each in reported
        if each["type"] == "fee.updated"
        and (each["symbol"], each["src_chain_id"], each["dst_chain_id"]) == (symbol, src, dst)
    ]
    age = now - max(datetime.fromisoformat(each["at"]) for each in reported)
    assert age > timedelta(seconds=route_of(document, symbol, src, dst)["base_fee_max_age_seconds"])


def test_nothing_renews_the_recorded_route(reported: list[Reported]) -> None:
    fees = [each for each in reported if each["type"] == "fee.updated"]
    assert len(fees) == 2
    assert ("USDT", 1, 56) not in {(f["symbol"], f["src_chain_id"], f["dst_chain_id"]) for f in fees}


def test_fees_exceed_amount_or_tolerance(document: Reported) -> None:
    """All of the amount, or all that the tolerance leaves."""
    base_fee = int(route_of(document, "USDT", 1, 56)["base_fee"])
    _, src, dst, symbol, amount = one(Reason.AMOUNT_TOO_SMALL)
    assert (symbol, src, dst) == ("USDT", 1, 56)
    assert amount * 10**12 < base_fee
    error, src, dst, symbol, amount = one(Reason.SLIPPAGE_TOO_HIGH)
    assert (symbol, src, dst) == ("USDT", 1, 56)
    arrives = amount * 10**6 * 1_000_001  # 6 to 18 decimals, at 1.000001
    tolerance = int(parse_qs(error.query)["slippage_tolerance"][0])
    assert arrives > base_fee, "it would arrive"
    assert Fraction(arrives) * (1_000_000 - tolerance) / 1_000_000 <= base_fee, "but none of it for sure"


def test_unknown_disabled_blocked(document: Reported) -> None:
    chains = {chain["id"]: chain for chain in document["chains"]}
    tokens = {(token["chain_id"], token["symbol"]): token for token in document["tokens"]}
    routes = {(r["symbol"], r["src_chain_id"], r["dst_chain_id"]) for r in document["routes"]}
    _, src, dst, *_ = one(Reason.SAME_CHAIN)
    assert src == dst
    assert one(Reason.CHAIN_UNKNOWN)[2] not in chains
    assert chains[one(Reason.CHAIN_DISABLED)[2]]["disabled"]
    _, src, dst, symbol, _ = one(Reason.TOKEN_NOT_ON_SRC)
    assert (src, symbol) not in tokens
    _, src, dst, symbol, _ = one(Reason.TOKEN_NOT_ON_DST)
    assert (src, symbol) in tokens
    assert (dst, symbol) not in tokens
    _, src, dst, symbol, _ = one(Reason.NO_ROUTE)
    assert {(src, symbol), (dst, symbol)} <= set(tokens)
    assert (symbol, src, dst) not in routes
    _, src, dst, symbol, _ = one(Reason.TRANSFER_DISABLED)
    assert tokens[dst, symbol]["xfer_disabled"]
    assert (symbol, src, dst) in routes
    blocked = {(b["symbol"], b["src_chain_id"], b["dst_chain_id"]): b for b in document["route_blocks"]}
    _, src, dst, symbol, _ = one(Reason.TRANSFER_DISABLED, 1)
    assert blocked[symbol, dst, src]["both_directions"], "shown from the other side"
    _, src, dst, symbol, _ = one(Reason.DIRECTION_BLOCKED)
    assert not blocked[symbol, src, dst]["both_directions"]


def test_blocked_callers(document: Reported) -> None:
    (address,) = parse_qs(one(Reason.ADDRESS_BLOCKED)[0].query)["usr_addr"]
    standing = [each["address"] for each in document["blocked_addresses"] if each["expires_at"] is None]
    assert address.lower() in {each.lower() for each in standing}
    assert address not in standing, "written in another letter case"
    callers = {error.caller for error in SANDBOX_ERRORS if error.reason is Reason.NETWORK_BLOCKED}
    assert callers == {"127.0.0.2"}
