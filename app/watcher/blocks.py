"""Blocks and logs as the nodes of EVM chains return them. Hashes are lower case with 0x."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from app.values.identifiers import BlockNumber


class BlockId(Struct, frozen=True):
    """A block and its place on its chain."""

    number: BlockNumber
    hash: str


class Header(Struct, frozen=True):
    """The parts of a block's header that are needed.

    ``bloom`` is the filter of its logs in 256 bytes, ``receipts_root`` the root of the trie of its receipts.
    Either is None where the node does not return it. ``transactions`` is their number, None where it is not
    known, as in a stored header.
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
