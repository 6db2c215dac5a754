"""The configuration as one who watches chains looks at it: on what terms, which tokens, which contracts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from app.values.codes import SendKind
from app.values.crypto import parse_evm_address
from app.values.identifiers import BlockNumber, ChainId, PoolKey, TransferId

FINALIZED: Final = "finalized"
"""The finality of chains whose nodes know it themselves: the tag that they answer for it."""

Finality = int | Literal["finalized"]
"""How many blocks deep a block is final, or the node's own word for it."""

RPC_NAME: Final = re.compile(r"RPC_URL_[A-Z0-9_]+")
"""Names of environment variables that may hold the URL of a node. No other variable can be named."""

MAX_RPC_NAME: Final = 64
MAX_RPC_NAMES: Final = 8
"""URLs of one chain."""

DEFAULT_POLL_SECONDS: Final = 5.0
MIN_POLL_SECONDS: Final = 0.2
MAX_POLL_SECONDS: Final = 3600.0


class WatchTerms(Struct, frozen=True, kw_only=True):
    """One chain that is to be watched.

    :param block_delay: blocks until a send is confirmed.
    :param from_block: the first block that is read.
    :param finality: when a range is read for the second time.
    :param poll_seconds: from one look at the newest blocks to the next.
    :param rpc: names of the environment variables that hold the nodes' URLs, the preferred one first.
    :param pool_bridge: the contract of the chain's pools; None where it has none, or none of the EVM.
    :param vaults: contracts on this chain that take deposits of pegged pairs.
    :param bridges: contracts on this chain that mint and burn for pegged pairs.
    :param disabled: the chain takes no new transfers. It is read all the same: those under way go on.
    """

    chain_id: ChainId
    name: str
    block_delay: int
    from_block: BlockNumber
    finality: Finality
    poll_seconds: float
    rpc: tuple[str, ...]
    pool_bridge: bytes | None
    vaults: frozenset[bytes]
    bridges: frozenset[bytes]
    disabled: bool = False

    @property
    def contracts(self) -> frozenset[bytes]:
        """Every contract whose logs are read."""
        pool = () if self.pool_bridge is None else (self.pool_bridge,)
        return self.vaults.union(self.bridges, pool)


def default_finality(block_delay: int) -> int:
    """The finality of a chain for which none is configured: twice as deep as a send must be.

    A reorganisation that goes deeper makes the ranges above it be read, and read again, anew, so a value
    that is too small costs calls and no truth.
    """
    return 2 * block_delay


class KnownSend(NamedTuple):
    """What is known of a transfer that comes from a chain, as far as it decides what pays it back."""

    kind: SendKind | None = None
    dst_chain_id: ChainId | None = None


SendsOf = Callable[[ChainId, Collection[TransferId]], Mapping[TransferId, KnownSend]]
"""Of these ids, those of transfers that are known and not known to come from another chain."""


class WatchedPair(Struct, frozen=True):
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


class WatchedNetwork(Struct, frozen=True, kw_only=True):
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
    sends_of: SendsOf | None = None

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


Row = Mapping[str, Any]
"""A row of one of the network document's lists, by column name."""

Rows = Mapping[str, Sequence[Row]]


class Watching(Struct, frozen=True):
    """Which chains are to be watched, and what logs of any chain mean."""

    network: WatchedNetwork
    terms: Mapping[ChainId, WatchTerms] = field(default_factory=dict)


def build_watching(rows: Rows, version: str) -> Watching:
    """Index the rows of the core sections, by section name.

    :param version: changes with any of the rows.
    """
    network = _network(rows, version)
    chains = [row for row in rows["chains"] if row["watch_from_block"] is not None]
    return Watching(network, {row["chain_id"]: _terms(row, network) for row in chains})


def _network(rows: Rows, version: str) -> WatchedNetwork:
    tokens: defaultdict[tuple[ChainId, bytes], list[str]] = defaultdict(list)
    listed: dict[PoolKey, bytes] = {}
    for row in rows["tokens"]:
        if (address := parse_evm_address(row["address"])) is not None:
            tokens[row["chain_id"], address].append(row["symbol"])
            listed[PoolKey(row["chain_id"], row["symbol"])] = address
    bridges = ((row["chain_id"], parse_evm_address(row["contract_addr"])) for row in rows["chains"])
    return WatchedNetwork(
        version=version,
        chain_ids=frozenset(row["chain_id"] for row in rows["chains"]),
        tokens={key: tuple(symbols) for key, symbols in tokens.items()},
        pools=frozenset(PoolKey(row["chain_id"], row["symbol"]) for row in rows["pools"]),
        pool_bridges={chain_id: address for chain_id, address in bridges if address is not None},
        pairs=tuple(_pair(row, listed) for row in rows["pegged_pairs"]),
    )


def _pair(row: Row, listed: Mapping[PoolKey, bytes]) -> WatchedPair:
    symbol, org, pegged = row["symbol"], row["org_chain_id"], row["pegged_chain_id"]
    return WatchedPair(
        symbol=symbol,
        org_chain_id=org,
        pegged_chain_id=pegged,
        vaults=frozenset(_addresses(row["pegged_deposit_contract_addr"], *row["deposit_contracts"])),
        bridges=frozenset(_addresses(row["pegged_burn_contract_addr"], *row["burn_contracts"])),
        org_token=_token(row["org_token"], listed.get(PoolKey(org, symbol))),
        pegged_token=_token(row["pegged_token"], listed.get(PoolKey(pegged, symbol))),
    )


def _addresses(*texts: str) -> Iterator[bytes]:
    yield from (address for text in texts if (address := parse_evm_address(text)) is not None)


def _token(said: Row, listed: bytes | None) -> bytes | None:
    """The address of a pair's token: its own one, else the chain's."""
    return parse_evm_address(said["address"]) if "address" in said else listed


def _terms(row: Row, network: WatchedNetwork) -> WatchTerms:
    chain_id, finality = row["chain_id"], row["finality"]
    return WatchTerms(
        chain_id=chain_id,
        name=row["name"],
        block_delay=row["block_delay"],
        from_block=row["watch_from_block"],
        finality=default_finality(row["block_delay"]) if finality is None else finality,
        poll_seconds=float(row["poll_seconds"]),
        rpc=tuple(row["rpc"]),
        pool_bridge=network.pool_bridges.get(chain_id),
        vaults=frozenset().union(*(pair.vaults for pair in network.pairs if pair.org_chain_id == chain_id)),
        bridges=frozenset().union(
            *(pair.bridges for pair in network.pairs if pair.pegged_chain_id == chain_id)
        ),
        disabled=row["disabled"],
    )
