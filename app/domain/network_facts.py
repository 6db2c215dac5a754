"""What the network's configuration says about transfers: tokens, contracts, validators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from app.domain.codes import SendKind
from app.domain.crypto import parse_evm_address
from app.domain.keys import ChainId, PoolKey, RouteKey
from app.domain.validators import ValidatorSet


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token on one chain; ``address`` is None where it is not an EVM address."""

    address: bytes | None
    decimals: int


@dataclass(frozen=True, slots=True)
class PairFacts:
    """A pegged pair's contracts: vaults on the original chain, bridges on the pegged one.

    The first of each is the pair's own, the others serve it beside that. One that is not an EVM address is
    None. ``org_token`` and ``pegged_token`` are set where the pair has a token of its own, not the chain's.
    """

    symbol: str
    org_chain_id: ChainId
    pegged_chain_id: ChainId
    vaults: tuple[bytes | None, ...]
    bridges: tuple[bytes | None, ...]
    org_token: TokenFacts | None = None
    pegged_token: TokenFacts | None = None


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """The configuration that folding a transfer looks at, as of one transaction."""

    tokens: Mapping[PoolKey, TokenFacts] = field(default_factory=dict)
    pool_bridges: Mapping[ChainId, bytes] = field(default_factory=dict)
    pairs: tuple[PairFacts, ...] = ()
    validators: Mapping[ChainId, ValidatorSet] = field(default_factory=dict)
    rates: Mapping[RouteKey, Fraction] = field(default_factory=dict)
    """Of the routes with a fixed rate other than 1."""

    def refund_contract(
        self, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId, named: str | None
    ) -> bytes | None:
        """The contract on the source chain that pays a refund back, None where it is not known.

        A pool send is refunded by the chain's pool bridge, a deposit by the pair's vault, a burn by the
        pair's pegged bridge. Where several serve a pair, it is the one that the send names.

        :param named: the contract of the send's event, None where it names none.
        """
        serving = self._serving(kind, symbol, src_chain_id, dst_chain_id)
        if named is not None:
            address = parse_evm_address(named)
            return address if any(address in contracts for contracts in serving) else None
        own = {contracts[0] for contracts in serving}
        return own.pop() if len(own) == 1 else None

    def payout_contract(
        self, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> bytes | None:
        """The contract that pays such a send out on the destination chain; None unless only one can be it.

        A pool send is paid by the chain's pool bridge; a token that was deposited or burned is minted by the
        pegged bridge of the destination's pair, or paid by the vault of its original chain.
        """
        if kind is SendKind.POOL:
            return self.pool_bridges.get(dst_chain_id)
        found: set[bytes | None] = set()
        for pair in self.pairs:
            if pair.symbol == symbol and pair.pegged_chain_id == dst_chain_id:
                found.update(pair.bridges)
            if (pair.symbol, pair.org_chain_id, pair.pegged_chain_id) == (symbol, dst_chain_id, src_chain_id):
                found.update(pair.vaults)
        return found.pop() if len(found) == 1 else None

    def is_unlisted(
        self, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId, named: str | None
    ) -> bool:
        """Whether contracts are listed for such a send, and the one that it names is none of them."""
        if named is None:
            return False
        serving = self._serving(kind, symbol, src_chain_id, dst_chain_id)
        address = parse_evm_address(named)
        return any(map(any, serving)) and not (address and any(address in each for each in serving))

    def _serving(
        self, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> list[tuple[bytes | None, ...]]:
        """The contracts that may have taken such a send, those of each pair together, its own one first.

        A burn towards a third chain (burn, then mint) has no pair with that chain: any pair of the symbol
        whose pegged side is the source names bridges, and all of them must agree on their own one.
        """
        if kind is SendKind.POOL:
            bridge = self.pool_bridges.get(src_chain_id)
            return [(bridge,)] if bridge else []
        of_symbol = [pair for pair in self.pairs if pair.symbol == symbol]
        if kind is SendKind.DEPOSIT:
            chains = src_chain_id, dst_chain_id
            return [pair.vaults for pair in of_symbol if (pair.org_chain_id, pair.pegged_chain_id) == chains]
        burns = [pair for pair in of_symbol if pair.pegged_chain_id == src_chain_id]
        direct = [pair for pair in burns if pair.org_chain_id == dst_chain_id]
        return [pair.bridges for pair in direct or burns]

    def tokens_of(
        self, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> tuple[TokenFacts | None, TokenFacts | None]:
        """The tokens of such a send on its source and on its destination; None while one is not known.

        Those of a deposit or burn are the pair's. A burn towards a third chain burns the token of a pair that
        has the same original as the destination's; where several are possible, they must agree.
        """
        src = self.tokens.get(PoolKey(src_chain_id, symbol))
        dst = self.tokens.get(PoolKey(dst_chain_id, symbol))
        if kind is SendKind.POOL:
            return src, dst
        of_symbol = [pair for pair in self.pairs if pair.symbol == symbol]
        if kind is SendKind.DEPOSIT:
            chains = src_chain_id, dst_chain_id
            found = [pair for pair in of_symbol if (pair.org_chain_id, pair.pegged_chain_id) == chains]
            return (
                _agreed([pair.org_token or src for pair in found], src),
                _agreed([pair.pegged_token or dst for pair in found], dst),
            )
        burned = [pair for pair in of_symbol if pair.pegged_chain_id == src_chain_id]
        direct = [pair for pair in burned if pair.org_chain_id == dst_chain_id]
        if direct:
            return (
                _agreed([pair.pegged_token or src for pair in direct], src),
                _agreed([pair.org_token or dst for pair in direct], dst),
            )
        minted = [pair for pair in of_symbol if pair.pegged_chain_id == dst_chain_id]
        originals = {pair.org_chain_id for pair in minted} & {pair.org_chain_id for pair in burned}
        return (
            _agreed([p.pegged_token or src for p in burned if p.org_chain_id in originals], src),
            _agreed([p.pegged_token or dst for p in minted if p.org_chain_id in originals], dst),
        )

    def scaled_down(
        self, amount: int, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> int | None:
        """A send's amount in destination units, rounded down; None while a token is unknown."""
        src, dst = self.tokens_of(kind, symbol, src_chain_id, dst_chain_id)
        if src is None or dst is None:
            return None
        return amount * int(10**dst.decimals) // int(10**src.decimals)

    def worth(
        self, amount: int, kind: SendKind, symbol: str, src_chain_id: ChainId, dst_chain_id: ChainId
    ) -> Fraction | None:
        """What a send's amount buys before fees, in destination units; None while a token is unknown.

        At the fixed rate of its route. Where there is none the rate is 1: of pegged pairs, and of a curve,
        for what a curve gives depends on balances that every event moves (docs/interface.md#anomalies).
        """
        src, dst = self.tokens_of(kind, symbol, src_chain_id, dst_chain_id)
        if src is None or dst is None:
            return None
        scaled = amount * Fraction(10) ** (dst.decimals - src.decimals)
        if kind is not SendKind.POOL:
            return scaled
        return scaled * self.rates.get(RouteKey(symbol, src_chain_id, dst_chain_id), 1)


def _agreed(found: list[TokenFacts | None], listed: TokenFacts | None) -> TokenFacts | None:
    """The one token that all pairs mean; the chain's where there is no pair, None where they differ."""
    if not found:
        return listed
    return found[0] if all(token == found[0] for token in found) else None
