"""What the network's configuration says about transfers: tokens, contracts, validators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.codes import SendKind
from app.domain.keys import ChainId, PoolKey
from app.domain.validators import ValidatorSet


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token on one chain; ``address`` is None where it is not an EVM address."""

    address: bytes | None
    decimals: int


@dataclass(frozen=True, slots=True)
class PairFacts:
    """A pegged pair's contracts: the vault on the original chain, the bridge on the pegged one."""

    symbol: str
    org_chain_id: ChainId
    pegged_chain_id: ChainId
    vault: bytes | None
    bridge: bytes | None


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """The configuration that folding a transfer looks at, as of one transaction."""

    tokens: Mapping[PoolKey, TokenFacts] = field(default_factory=dict)
    pool_bridges: Mapping[ChainId, bytes] = field(default_factory=dict)
    pairs: tuple[PairFacts, ...] = ()
    validators: Mapping[ChainId, ValidatorSet] = field(default_factory=dict)

    def refund_contract(
        self, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> bytes | None:
        """The contract on the source chain that pays a refund back.

        A pool send is refunded by the chain's pool bridge, a deposit by the pair's vault, a burn
        by the pair's pegged bridge. A burn towards a third chain (burn, then mint) has no pair
        with that chain: any pair of the symbol whose pegged side is the source names the bridge,
        and all of them must agree.
        """
        if kind is SendKind.POOL:
            return self.pool_bridges.get(src_chain_id)
        of_symbol = [pair for pair in self.pairs if pair.symbol == symbol]
        if kind is SendKind.DEPOSIT:
            vaults = [
                p.vault
                for p in of_symbol
                if (p.org_chain_id, p.pegged_chain_id) == (src_chain_id, dst_chain_id)
            ]
            return vaults[0] if vaults else None
        burns = [pair for pair in of_symbol if pair.pegged_chain_id == src_chain_id]
        direct = [pair for pair in burns if pair.org_chain_id == dst_chain_id]
        bridges = {pair.bridge for pair in direct or burns}
        return bridges.pop() if len(bridges) == 1 else None

    def scaled_down(
        self, amount: int, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> int | None:
        """A source amount in destination units, rounded down; None while a token is unknown."""
        src = self.tokens.get(PoolKey(src_chain_id, symbol))
        dst = self.tokens.get(PoolKey(dst_chain_id, symbol))
        if src is None or dst is None:
            return None
        return amount * int(10**dst.decimals) // int(10**src.decimals)
