"""Which token and which chain a log means."""

from __future__ import annotations

import pytest

from app.network.watch_terms import WatchedNetwork, WatchedPair
from app.values.identifiers import ChainId, PoolKey

ONE, TWO, THREE = map(ChainId, (1, 2, 3))
WRAPPED, OTHER, VAULT, BRIDGE, MINTED, LOCKED = (bytes([n]) * 20 for n in range(6))


def pair(symbol: str, org: int, pegged: int, minted: bytes | None = MINTED) -> WatchedPair:
    return WatchedPair(
        symbol, ChainId(org), ChainId(pegged), frozenset({VAULT}), frozenset({BRIDGE}), LOCKED, minted
    )


def network(*pairs: WatchedPair) -> WatchedNetwork:
    pools = {PoolKey(ONE, "WETH"), PoolKey(TWO, "WETH"), PoolKey(THREE, "ETH"), PoolKey(ONE, "ETH")}
    return WatchedNetwork(
        version="1",
        tokens={(ONE, WRAPPED): ("GWEI", "ETH", "WETH"), (TWO, WRAPPED): ("WETH",)},
        pools=frozenset(pools),
        pairs=pairs,
    )


@pytest.mark.parametrize(
    ("chain", "token", "other", "symbol"),
    [
        (TWO, WRAPPED, ONE, "WETH"),
        (ONE, OTHER, TWO, None),
        (ONE, WRAPPED, TWO, "WETH"),
        (ONE, WRAPPED, THREE, "ETH"),
        (ONE, WRAPPED, ChainId(9), "ETH"),
        (ONE, WRAPPED, None, "ETH"),
    ],
)
def test_tokens_of_pools(chain: ChainId, token: bytes, other: ChainId | None, symbol: str | None) -> None:
    assert network().pool_symbol(chain, token, other) == symbol


def test_tokens_that_a_vault_took() -> None:
    two, three = pair("CELR", 1, 2), pair("CELR.b", 1, 3)
    assert network(two, three).deposit_symbol(ONE, VAULT, LOCKED, TWO) == "CELR"
    assert network(two, three).deposit_symbol(ONE, VAULT, LOCKED, THREE) == "CELR.b"
    assert network(two, three).deposit_symbol(ONE, VAULT, LOCKED, ChainId(9)) is None
    assert network(two).deposit_symbol(ONE, VAULT, LOCKED, ChainId(9)) == "CELR"
    assert network(two).deposit_symbol(ONE, BRIDGE, LOCKED, TWO) is None
    assert network(two).deposit_symbol(ONE, VAULT, MINTED, TWO) is None
    assert network(two).deposit_symbol(TWO, VAULT, LOCKED, TWO) is None


def test_where_a_burn_goes() -> None:
    known = network(pair("CELR", 1, 2))
    assert known.burn_target(TWO, BRIDGE, MINTED, 1) == ("CELR", ONE)
    assert known.burn_target(TWO, BRIDGE, MINTED, 0) == ("CELR", ONE)
    assert known.burn_target(TWO, BRIDGE, MINTED, 3) == ("CELR", THREE)
    assert known.burn_target(TWO, VAULT, MINTED, 1) is None
    assert known.burn_target(TWO, BRIDGE, OTHER, 1) is None


def test_a_burn_whose_original_is_not_clear_is_not_guessed() -> None:
    both = network(pair("CELR", 1, 2), pair("CELR", 3, 2))
    assert both.burn_target(TWO, BRIDGE, MINTED, 0) is None
    assert both.burn_target(TWO, BRIDGE, MINTED, 3) == ("CELR", THREE)
    none = network(pair("CELR", 1, 2, minted=None))
    assert none.burn_target(TWO, BRIDGE, MINTED, 1) is None
