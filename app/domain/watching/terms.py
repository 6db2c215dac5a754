"""On what terms a chain is watched: what an operator configured about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain.finality import Finality
from app.domain.keys import BlockNumber, ChainId

RPC_NAME: Final = re.compile(r"RPC_URL_[A-Z0-9_]+")
"""Names of environment variables that may hold the URL of a node. No other variable can be named."""

MAX_RPC_NAME: Final = 64
MAX_RPC_NAMES: Final = 8
"""URLs of one chain."""

DEFAULT_POLL_SECONDS: Final = 5.0
MIN_POLL_SECONDS: Final = 0.2
MAX_POLL_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTerms:
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
