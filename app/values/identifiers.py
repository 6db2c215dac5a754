"""Types for the names of chains, transfers, blocks, accounts, pools and routes.

A plain ``int`` or ``bytes`` becomes one of them in an interface, in the event codec or where a row is read;
from there on mypy does not mix up a chain id and a block number.
"""

from __future__ import annotations

from typing import Final, NamedTuple, NewType

ChainId = NewType("ChainId", int)

MAX_CHAIN_ID: Final = 2**32 - 1
"""The largest number in the wire's 32 bits."""

MAX_UINT64: Final = 2**64 - 1
"""What a contract accepts as the destination of a send: also chains that cannot be configured."""

BlockNumber = NewType("BlockNumber", int)

TransferId = NewType("TransferId", bytes)
"""The 32 bytes that name a transfer (docs/interface/answers.md#transfer-id)."""


def account_key(account: str) -> str:
    """The form of an account that is the same for all letter cases, on any chain
    (docs/interface/answers.md#usr-addr).

    Up to three times as long as the account.
    """
    return account.casefold()


class PoolKey(NamedTuple):
    """A token on one chain, and the pool that holds it there."""

    chain_id: ChainId
    symbol: str

    @property
    def in_any_case(self) -> PoolKey:
        """The key that tokens of a chain share if their symbols differ only in letter case."""
        return PoolKey(self.chain_id, self.symbol.casefold())


class RouteKey(NamedTuple):
    """Transfers of one token in one direction."""

    symbol: str
    src_chain_id: ChainId
    dst_chain_id: ChainId

    @property
    def src(self) -> PoolKey:
        return PoolKey(self.src_chain_id, self.symbol)

    @property
    def dst(self) -> PoolKey:
        return PoolKey(self.dst_chain_id, self.symbol)

    @property
    def reverse(self) -> RouteKey:
        return RouteKey(self.symbol, self.dst_chain_id, self.src_chain_id)
