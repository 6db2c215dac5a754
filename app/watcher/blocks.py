"""Blocks and logs as the nodes of EVM chains return them, and which cannot be true.

Hashes are lower case with 0x.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
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


class ImpossibleAnswer(Exception):
    """A node's answer contradicts the request or itself; the message says how, without any address."""


def check_logs(
    logs: Sequence[Log],
    first: BlockNumber,
    last: BlockNumber,
    contracts: Collection[bytes],
    topics: Collection[bytes],
) -> None:
    """Check the logs of a range, both ends included, against the request.

    They have to be in the order of their chain, none twice, and the logs of a block have to name one hash.

    :raises ImpossibleAnswer: for the first log that breaks this.
    """
    before = (-1, -1)
    hashes: dict[int, str] = {}
    for log in logs:
        if not first <= log.block <= last:
            raise ImpossibleAnswer(f"a log of block {log.block} for blocks {first} to {last}")
        if log.address not in contracts or not log.topics or log.topics[0] not in topics:
            raise ImpossibleAnswer(f"a log of block {log.block} that was not requested")
        here = log.block, log.index
        if here <= before:
            raise ImpossibleAnswer(f"log {log.index} of block {log.block} is repeated or out of order")
        if hashes.setdefault(log.block, log.block_hash) != log.block_hash:
            raise ImpossibleAnswer(f"the logs of block {log.block} have different block hashes")
        before = here


def check_blocks(logs: Iterable[Log], headers: Mapping[BlockNumber, Header]) -> None:
    """Check that each log names the block that has its number.

    :param headers: of every block that has one of the logs.
    :raises ImpossibleAnswer: for a log of another block. Where logs and headers come from two calls, a
        reorganisation in between has the same effect, so they are requested again before this is believed.
    """
    for log in logs:
        header = headers.get(log.block)
        if header is None or header.hash != log.block_hash:
            raise ImpossibleAnswer(
                f"the logs of block {log.block} do not belong to the block with this number"
            )


def check_parents(headers: Iterable[Header]) -> None:
    """Check that blocks that follow each other name each other.

    :param headers: in any order; those that do not follow each other are not compared.
    :raises ImpossibleAnswer: for one whose parent is another block, or that is older than its parent, or for
        two of one number.
    """
    by_number: dict[int, Header] = {}
    for header in headers:
        known = by_number.setdefault(header.number, header)
        if known.hash != header.hash:
            raise ImpossibleAnswer(f"two blocks have the number {header.number}")
    for number, header in by_number.items():
        parent = by_number.get(number - 1)
        if parent is None:
            continue
        if header.parent_hash != parent.hash:
            raise ImpossibleAnswer(f"block {number} does not build on block {number - 1}")
        if header.at < parent.at:
            raise ImpossibleAnswer(f"block {number} is older than block {number - 1}")


def digest(logs: Iterable[Log]) -> bytes:
    """SHA-256 over the logs in their order: block, its hash, transaction, index, contract, topics, data.

    Each part without a fixed length has its length before it, so no two different lists have the same bytes.
    """
    return hashlib.sha256(b"".join(map(_written, logs))).digest()


def _written(log: Log) -> bytes:
    head = f"{log.block}:{log.block_hash}:{log.tx_hash}:{log.index}:{len(log.topics)}:{len(log.data)}:"
    topics = b"".join(log.topics) if all(len(topic) == 32 for topic in log.topics) else _framed(log.topics)
    return b"".join((head.encode("utf-8"), log.address, topics, log.data))


def _framed(topics: tuple[bytes, ...]) -> bytes:
    return b"".join(b"%d:%b" % (len(topic), topic) for topic in topics)
