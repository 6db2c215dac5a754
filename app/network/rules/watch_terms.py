"""The configuration for watching chains: terms, tokens and contracts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from app.network.rules.validation_facts import NetworkFacts, Row, Rows
from app.values.codes import SendKind
from app.values.crypto import parse_evm_address
from app.values.identifiers import BlockNumber, ChainId, TransferId

FINALIZED: Final = "finalized"
"""The finality of chains whose nodes know it: the block tag that they answer."""

Finality = int | Literal["finalized"]
"""How many blocks deep a block is final, or the node's tag for it."""

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
    :param finality: when a range is read for the second time.
    :param poll_seconds: between two reads of the newest blocks.
    :param rpc: names of the environment variables that hold the nodes' URLs, the preferred one first.
    :param same_provider: names of nodes of one provider whose hosts do not say it.
    :param independent: names of nodes of different ones whose hosts end alike.
    :param pool_bridge: None where the chain has none, or not an EVM one.
    :param vaults: contracts on this chain that take deposits of pegged pairs.
    :param bridges: contracts on this chain that mint and burn for pegged pairs.
    :param native_wrap: the token that native coin is wrapped as; None where none is configured.
    :param disabled: the chain takes no new transfers. It is still read, as transfers under way continue.
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
    same_provider: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()
    native_wrap: bytes | None = None

    @property
    def contracts(self) -> frozenset[bytes]:
        pool = () if self.pool_bridge is None else (self.pool_bridge,)
        return self.vaults.union(self.bridges, pool)


def default_finality(block_delay: int) -> int:
    """Twice as deep as a send must be. After a deeper reorganisation the ranges above it are read twice
    again: a value that is too small costs calls, but gives no wrong facts.
    """
    return 2 * block_delay


class KnownSend(NamedTuple):
    """The facts of a transfer from a chain that decide which contract pays a refund.

    Without a kind the transfer is known, but not its send.
    """

    kind: SendKind | None = None
    dst_chain_id: ChainId | None = None
    is_pruned: bool = False
    """What its send said is gone, and nothing new about it is accepted."""


SendsOf = Callable[[ChainId, Collection[TransferId]], Mapping[TransferId, KnownSend]]
"""The given ids of known transfers, without those known to come from another chain."""


class WatchedNetwork(Struct, frozen=True):
    """The facts that translating logs into events depends on.

    :param version: changes whenever anything in ``facts`` does; what waits for the configuration is tried
        again then.
    :param sends_of: looks transfers up. Where it is None every reference counts as a transfer's.
    """

    version: str
    facts: NetworkFacts
    sends_of: SendsOf | None = None


def build_watch_terms(rows: Rows, facts: NetworkFacts) -> dict[ChainId, WatchTerms]:
    """``rows`` are of the core sections, by section name; ``facts`` is what these rows say."""
    chains = [row for row in rows["chains"] if row["watch_from_block"] is not None]
    return {row["chain_id"]: _terms(row, facts) for row in chains}


def _terms(row: Row, facts: NetworkFacts) -> WatchTerms:
    chain_id, finality = row["chain_id"], row["finality"]
    return WatchTerms(
        chain_id=chain_id,
        name=row["name"],
        block_delay=row["block_delay"],
        from_block=row["watch_from_block"],
        finality=default_finality(row["block_delay"]) if finality is None else finality,
        poll_seconds=float(row["poll_seconds"]),
        rpc=tuple(row["rpc"]),
        same_provider=tuple(row["rpc_same_provider"]),
        independent=tuple(row["rpc_independent"]),
        pool_bridge=facts.pool_bridges.get(chain_id),
        vaults=_contracts(pair.vaults for pair in facts.pairs if pair.org_chain_id == chain_id),
        bridges=_contracts(pair.bridges for pair in facts.pairs if pair.pegged_chain_id == chain_id),
        disabled=row["disabled"],
        native_wrap=parse_evm_address(row["native_wrap"]),
    )


def _contracts(of_pairs: Iterable[tuple[bytes | None, ...]]) -> frozenset[bytes]:
    return frozenset(address for contracts in of_pairs for address in contracts if address is not None)
