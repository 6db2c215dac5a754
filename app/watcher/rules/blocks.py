"""Blocks and logs as the nodes of EVM chains return them, and which cannot be true.

Hashes are lower case with 0x.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from app.values.identifiers import BlockNumber


class BlockId(Struct, frozen=True):
    number: BlockNumber
    hash: str


class Header(Struct, frozen=True):
    """The parts of a block's header that are needed.

    :param bloom: the filter of its logs in 256 bytes; None where the node does not return it.
    :param receipts_root: of the trie of its receipts; None likewise.
    :param transactions: their number; None where it is not known, as in a stored header.
    :param verified: its fields give its hash: only such a header proves anything.
    """

    number: BlockNumber
    hash: str
    parent_hash: str
    at: datetime
    bloom: bytes | None = None
    receipts_root: bytes | None = None
    transactions: int | None = None
    verified: bool = False

    @property
    def id(self) -> BlockId:
        return BlockId(self.number, self.hash)


class Log(Struct, frozen=True):
    """A log of a contract. ``address`` and ``topics`` are raw bytes.

    Two nodes may give one log two indices: they count within the block or within the transaction. A log is
    known by its transaction, by what it says, and by its order among those that say the same.

    :param tx_index: the place of its transaction in the block; 0 where the node does not return it.
    """

    block: BlockNumber
    block_hash: str
    tx_hash: str
    index: int
    address: bytes
    topics: tuple[bytes, ...]
    data: bytes
    tx_index: int = 0


class ImpossibleAnswer(Exception):
    """A node's answer contradicts the request or itself; the message says how, without any address."""


def in_order(logs: Iterable[Log]) -> list[Log]:
    """The logs by block, transaction and index, each once.

    Transactions without a place stay in the order of the answer, and so do logs of a transaction with the
    same index.
    """
    found: dict[tuple[int, int, int, str], list[Log]] = {}
    seen: dict[str, int] = {}
    for log in dict.fromkeys(logs):
        first_seen = seen.setdefault(log.tx_hash, len(seen))
        found.setdefault((log.block, log.tx_index, first_seen, log.block_hash), []).append(log)
    by_index = (sorted(of_tx, key=lambda log: log.index) for _, of_tx in sorted(found.items()))
    return [log for of_tx in by_index for log in counted(of_tx)]


def counted(of_tx: Iterable[Log]) -> Iterator[Log]:
    """The logs of a transaction in their order, each with an index above that of the one before."""
    before = -1
    for log in of_tx:
        before = max(log.index, before + 1)
        yield log if log.index == before else replace(log, index=before)


def check_logs(
    logs: Sequence[Log],
    first: BlockNumber,
    last: BlockNumber,
    contracts: Collection[bytes],
    topics: Collection[bytes],
) -> None:
    """Check the logs of a range, both ends included, against the request.

    They have to be in the order of their chain, none twice, and the logs of a block have to name one hash.
    Their index may begin again with each transaction.

    :raises ImpossibleAnswer: for the first log that breaks this.
    """
    before = (-1, -1, "", -1)
    hashes: dict[int, str] = {}
    for log in logs:
        if not first <= log.block <= last:
            raise ImpossibleAnswer(f"a log of block {log.block} for blocks {first} to {last}")
        if log.address not in contracts or not log.topics or log.topics[0] not in topics:
            raise ImpossibleAnswer(f"a log of block {log.block} that was not requested")
        here = log.block, log.tx_index, log.tx_hash, log.index
        if here[:2] < before[:2] or (here[:3] == before[:3] and here <= before):
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

    :param headers: in any order.
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
    """SHA-256 over the logs: block, its hash, transaction, order in it, contract, topics, data.

    It is the same however the node counts. Each part without a fixed length has its length before it, so no
    two different lists have the same bytes.
    """
    of_txs: dict[tuple[int, str, str], list[Log]] = {}
    for log in logs:
        of_txs.setdefault((log.block, log.block_hash, log.tx_hash), []).append(log)
    written: list[bytes] = []
    for _, of_tx in sorted(of_txs.items()):
        places = {index: place for place, index in enumerate(sorted({log.index for log in of_tx}))}
        written += [_written(log, places[log.index]) for log in of_tx]
    return hashlib.sha256(b"".join(written)).digest()


def are_of(stored: bytes, logs: Sequence[Log]) -> bool:
    """Whether a stored digest is that of the logs. Releases up to 1.0.1 stored it with the indices."""
    by_index = b"".join(_written(log, log.index) for log in logs)
    return stored in (digest(logs), hashlib.sha256(by_index).digest())


def _written(log: Log, place: int) -> bytes:
    head = f"{log.block}:{log.block_hash}:{log.tx_hash}:{place}:{len(log.topics)}:{len(log.data)}:"
    topics = b"".join(log.topics) if all(len(topic) == 32 for topic in log.topics) else _framed(log.topics)
    return b"".join((head.encode("utf-8"), log.address, topics, log.data))


def _framed(topics: tuple[bytes, ...]) -> bytes:
    return b"".join(b"%d:%b" % (len(topic), topic) for topic in topics)
