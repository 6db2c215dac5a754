"""Which token and which chain a log means."""

from __future__ import annotations

from typing import Any

import pytest

from app.network.rules.validation_facts import NetworkFacts, PairFacts
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey
from app.watcher.rules.logs.payouts import NotConfigured, burn_target
from app.watcher.rules.logs.values import Burn
from tests.watcher.logs import ALICE, BOB, pair

ONE, TWO, THREE = map(ChainId, (1, 2, 3))
WRAPPED, OTHER, VAULT, BRIDGE, MINTED, LOCKED = (bytes([n]) * 20 for n in range(6))


def of(symbol: str, org: int, pegged: int, minted: bytes | None = MINTED) -> PairFacts:
    return pair(symbol, ChainId(org), ChainId(pegged), VAULT, BRIDGE, LOCKED, minted)


def network(*pairs: PairFacts) -> NetworkFacts:
    pools = {PoolKey(ONE, "WETH"), PoolKey(TWO, "WETH"), PoolKey(THREE, "ETH"), PoolKey(ONE, "ETH")}
    return NetworkFacts(
        symbols={(ONE, WRAPPED): ("GWEI", "ETH", "WETH"), (TWO, WRAPPED): ("WETH",)},
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
    assert network().pool_symbol(token, chain, other) == symbol


def test_tokens_that_a_vault_took() -> None:
    def symbol(
        *pairs: PairFacts, src: int = 1, dst: int = 2, vault: bytes = VAULT, token: bytes = LOCKED
    ) -> Any:
        return network(*pairs).paired_symbol(SendKind.DEPOSIT, token, ChainId(src), ChainId(dst), vault)

    two, three = of("CELR", 1, 2), of("CELR.b", 1, 3)
    assert symbol(two, three) == "CELR"
    assert symbol(two, three, dst=3) == "CELR.b"
    assert symbol(two, three, dst=9) is None
    assert symbol(two, dst=9) == "CELR"
    assert symbol(two, vault=BRIDGE) is None
    assert symbol(two, token=MINTED) is None
    assert symbol(two, src=2) is None


def burned(*pairs: PairFacts, to: int, bridge: bytes = BRIDGE, token: bytes = MINTED) -> Any:
    burn = Burn(bytes(32), token, ALICE, 5, to, BOB, 9)
    return burn_target(burn, bridge, TWO, network(*pairs))


def test_where_a_burn_goes() -> None:
    pair_ = of("CELR", 1, 2)
    assert burned(pair_, to=1) == ("CELR", ONE)
    assert burned(pair_, to=0) == ("CELR", ONE)
    assert burned(pair_, to=3) == ("CELR", THREE)
    assert burned(pair_, to=1, bridge=VAULT) == (None, ONE)
    assert burned(pair_, to=1, token=OTHER) == (None, ONE)


def test_ambiguous_burn_is_not_guessed() -> None:
    both = of("CELR", 1, 2), of("CELR", 3, 2)
    with pytest.raises(NotConfigured):
        burned(*both, to=0)
    assert burned(*both, to=3) == ("CELR", THREE)
    assert burned(of("CELR", 1, 2, minted=None), to=1) == (None, ONE)
