"""What the configuration says to one who reads logs: which token an address is, and where a contract pays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.codes import SendKind
from app.domain.keys import ChainId, PoolKey, TransferId


class KnownSend(NamedTuple):
    """What is known of a transfer that comes from a chain, as far as it decides what pays it back."""

    kind: SendKind | None = None
    dst_chain_id: ChainId | None = None


SendsOf = Callable[[ChainId, Collection[TransferId]], Mapping[TransferId, KnownSend]]
"""Of these ids, those of transfers that are known and not known to come from another chain."""


@dataclass(frozen=True, slots=True)
class WatchedPair:
    """A pegged pair as its logs show it.

    :param vaults: contracts on the original chain that take its deposits.
    :param bridges: contracts on the pegged chain that mint and burn it.
    :param org_token: the token's address on the original chain: the pair's own one, else the chain's. None
        where it is no EVM address, or not known.
    :param pegged_token: as ``org_token``, on the pegged chain.
    """

    symbol: str
    org_chain_id: ChainId
    pegged_chain_id: ChainId
    vaults: frozenset[bytes]
    bridges: frozenset[bytes]
    org_token: bytes | None
    pegged_token: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedNetwork:
    """What translating logs into events looks at. Addresses are 20 raw bytes.

    :param version: changes whenever anything in here does; what waits for the configuration is tried
        again then.
    :param chain_ids: the chains that are configured.
    :param tokens: the symbols that a chain lists at an address, in the document's order; maybe several.
    :param pools: tokens that have a pool.
    :param pool_bridges: the contract of each chain's pools.
    :param sends_of: looks transfers up; None where nobody can, and every reference counts as a transfer's.
    """

    version: str
    chain_ids: frozenset[ChainId] = frozenset()
    tokens: Mapping[tuple[ChainId, bytes], tuple[str, ...]] = field(default_factory=dict)
    pools: frozenset[PoolKey] = frozenset()
    pool_bridges: Mapping[ChainId, bytes] = field(default_factory=dict)
    pairs: tuple[WatchedPair, ...] = ()
    sends_of: SendsOf | None = field(default=None, compare=False)

    def pool_symbol(
        self, chain_id: ChainId, token: bytes, other_chain_id: ChainId | None = None
    ) -> str | None:
        """The symbol of a token in a log of a chain's pool bridge; None while it is not known.

        Where a chain lists several symbols at one address, such as a native coin and its wrapped token, the
        one counts that has a pool on both chains; then one that has a pool on this chain; then the first.

        :param other_chain_id: the other chain of the transfer; None of a provider's deposit or withdrawal.
        """
        listed = self.tokens.get((chain_id, token), ())
        if len(listed) < 2:
            return listed[0] if listed else None
        here = [symbol for symbol in listed if PoolKey(chain_id, symbol) in self.pools] or listed
        if other_chain_id is None:
            return here[0]
        return next((symbol for symbol in here if PoolKey(other_chain_id, symbol) in self.pools), here[0])

    def deposit_symbol(
        self, chain_id: ChainId, vault: bytes, token: bytes, pegged_chain_id: ChainId
    ) -> str | None:
        """The symbol of a token that a vault took for a chain; None while no pair of the vault says it."""
        found = [
            pair
            for pair in self.pairs
            if pair.org_chain_id == chain_id and vault in pair.vaults and pair.org_token == token
        ]
        return _symbol(pair for pair in found if pair.pegged_chain_id == pegged_chain_id) or _symbol(found)

    def burn_target(
        self, chain_id: ChainId, bridge: bytes, token: bytes, to_chain_id: int
    ) -> tuple[str, ChainId] | None:
        """The symbol of a token that a pegged bridge burned, and the chain that pays it out.

        None while no pair of the bridge says it, or while several say different things.

        :param to_chain_id: as the log tells it; 0, and any burn of a v1 contract, means the original chain.
        """
        found = [
            pair
            for pair in self.pairs
            if pair.pegged_chain_id == chain_id and bridge in pair.bridges and pair.pegged_token == token
        ]
        if to_chain_id:
            direct = [pair for pair in found if pair.org_chain_id == to_chain_id]
            symbol = _symbol(direct) or _symbol(found)
            return None if symbol is None else (symbol, ChainId(to_chain_id))
        targets = {(pair.symbol, pair.org_chain_id) for pair in found}
        return targets.pop() if len(targets) == 1 else None


def _symbol(pairs: Iterable[WatchedPair]) -> str | None:
    """The symbol of all these pairs; None where there is none, or more than one."""
    symbols = {pair.symbol for pair in pairs}
    return symbols.pop() if len(symbols) == 1 else None
