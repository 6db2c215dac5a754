"""Blocks and logs, as the nodes of EVM chains tell them. Hashes are lower case with 0x."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from app.values.identifiers import BlockNumber


class BlockId(Struct, frozen=True):
    """A block and its place on its chain."""

    number: BlockNumber
    hash: str


class Header(Struct, frozen=True):
    """What is needed of a block's header.

    ``bloom`` has the 256 bytes of the filter of its logs, ``receipts_root`` the root of the trie of its
    receipts; either is None where the node tells none. ``transactions`` is their number; None where that is
    not known, such as of a stored header.
    """

    number: BlockNumber
    hash: str
    parent_hash: str
    at: datetime
    bloom: bytes | None = None
    receipts_root: bytes | None = None
    transactions: int | None = None

    @property
    def id(self) -> BlockId:
        """The block."""
        return BlockId(self.number, self.hash)


class Log(Struct, frozen=True):
    """A log of a contract. ``address`` and ``topics`` are raw bytes; ``index`` counts within the block."""

    block: BlockNumber
    block_hash: str
    tx_hash: str
    index: int
    address: bytes
    topics: tuple[bytes, ...]
    data: bytes
