"""A chain that exists in memory only: blocks with hashes, filters and receipts' roots, and branches.

A node of it, with whatever faults a test wants, is a :class:`tests.watcher.fake_node.FakeNode`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import rlp
from trie import HexaryTrie

from app.values.crypto import keccak256

START = 1_780_000_000
"""The time of block 0, in Unix seconds: 2026-05-28."""


@dataclass(frozen=True)
class FakeLog:
    """A log to be mined. Those with the same ``tx`` are in one transaction."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes
    tx: str = ""

    @property
    def rlp(self) -> list[Any]:
        return [self.address, list(self.topics), self.data]


@dataclass(frozen=True)
class FakeBlock:
    """A block.

    :param salt: makes it differ from another with the same logs on the same parent.
    :param unfiltered: its filter lacks its logs.
    """

    number: int
    parent: str
    at: int
    logs: tuple[FakeLog, ...] = ()
    salt: str = ""
    unfiltered: bool = False

    @cached_property
    def hash(self) -> str:
        return hash_of(self.fields)

    @cached_property
    def fields(self) -> dict[str, bytes | int]:
        """What its hash is of, in the order of London."""
        listed = "".join(tx for tx, _ in self.transactions).encode()
        return {
            "parentHash": bytes.fromhex(self.parent[2:]),
            "sha3Uncles": keccak256(b"\xc0"),
            "miner": bytes(20),
            "stateRoot": bytes(32),
            "transactionsRoot": keccak256(listed),
            "receiptsRoot": self.receipts_root,
            "logsBloom": self.bloom,
            "difficulty": 0,
            "number": self.number,
            "gasLimit": 30_000_000,
            "gasUsed": 21_000 * len(self.transactions),
            "timestamp": self.at,
            "extraData": self.salt.encode(),
            "mixHash": bytes(32),
            "nonce": bytes(8),
            "baseFeePerGas": 7,
        }

    @cached_property
    def transactions(self) -> list[tuple[str, list[tuple[int, FakeLog]]]]:
        """Each transaction's hash and its logs with their place in the block."""
        grouped: dict[str, list[tuple[int, FakeLog]]] = {}
        for index, log in enumerate(self.logs):
            grouped.setdefault(log.tx or f"single-{index}", []).append((index, log))
        return [
            (f"0x{keccak256(repr((self.number, self.salt, name)).encode()).hex()}", logs)
            for name, logs in grouped.items()
        ]

    @cached_property
    def bloom(self) -> bytes:
        return bytes(255) + b"\1" if self.unfiltered else bloom_of(self.logs)

    @cached_property
    def receipts_root(self) -> bytes:
        trie = HexaryTrie(db={})
        for place, (_, logs) in enumerate(self.transactions):
            own = [log for _, log in logs]
            receipt = [1, 21_000 * (place + 1), bloom_of(own), [log.rlp for log in own]]
            trie[rlp.encode(place)] = b"\x02" + rlp.encode(receipt)
        return bytes(trie.root_hash)

    @cached_property
    def header_json(self) -> dict[str, Any]:
        fields = {
            name: hex(value) if isinstance(value, int) else f"0x{value.hex()}"
            for name, value in self.fields.items()
        }
        return fields | {"hash": self.hash, "transactions": [tx for tx, _ in self.transactions]}

    @cached_property
    def logs_json(self) -> list[dict[str, Any]]:
        places = {tx: place for place, (tx, _) in enumerate(self.transactions)}
        found = [(index, tx, log) for tx, logs in self.transactions for index, log in logs]
        return [
            {
                "address": f"0x{log.address.hex()}",
                "topics": [f"0x{topic.hex()}" for topic in log.topics],
                "data": f"0x{log.data.hex()}",
                "blockNumber": hex(self.number),
                "blockHash": self.hash,
                "transactionHash": tx,
                "transactionIndex": hex(places[tx]),
                "logIndex": hex(index),
                "removed": False,
            }
            for index, tx, log in sorted(found, key=lambda entry: entry[0])
        ]

    @cached_property
    def receipts_json(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "0x2",
                "status": "0x1",
                "cumulativeGasUsed": hex(21_000 * (place + 1)),
                "logsBloom": f"0x{bloom_of([log for _, log in logs]).hex()}",
                "transactionHash": tx,
                "transactionIndex": hex(place),
                "logs": [self.logs_json[index] for index, _ in logs],
            }
            for place, (tx, logs) in enumerate(self.transactions)
        ]


def hash_of(fields: Mapping[str, bytes | int]) -> str:
    """The hash of a header with these fields."""
    return f"0x{keccak256(rlp.encode(list(fields.values()))).hex()}"


def bloom_of(logs: Iterable[FakeLog]) -> bytes:
    """The filter of some logs (Yellow Paper, 4.3.1)."""
    bits = 0
    for log in logs:
        for part in (log.address, *log.topics):
            digest = keccak256(part)
            for start in (0, 2, 4):
                bits |= 1 << (int.from_bytes(digest[start : start + 2], "big") & 2047)
    return bits.to_bytes(256, "big")


@dataclass
class FakeChain:
    """The branch that counts now. ``blocks[n]`` has the number n.

    :param unfiltered: numbers of blocks to be mined whose filters lack their logs.
    """

    chain_id: int = 1
    block_seconds: int = 2
    blocks: list[FakeBlock] = field(default_factory=list)
    branches: int = 0
    unfiltered: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not self.blocks:
            self.blocks.append(FakeBlock(0, f"0x{'00' * 32}", START))

    @property
    def head(self) -> FakeBlock:
        return self.blocks[-1]

    def mine(self, *logs: FakeLog) -> FakeBlock:
        """A block with these logs."""
        last = self.head
        salt = f"{self.chain_id}/{self.branches}"
        number = last.number + 1
        at, unfiltered = last.at + self.block_seconds, number in self.unfiltered
        block = FakeBlock(number, last.hash, at, logs, salt, unfiltered)
        self.blocks.append(block)
        return block

    def mine_many(self, count: int) -> None:
        """Blocks without a log."""
        for _ in range(count):
            self.mine()

    def reorg(self, depth: int, logs: Sequence[Sequence[FakeLog]] | None = None) -> list[FakeBlock]:
        """Replace the newest blocks by others, and mine one more.

        :param logs: of each block of the new branch; left out, the same logs as before, and none in the last.
        :return: the blocks that were orphaned.
        """
        orphans = self.blocks[len(self.blocks) - depth :]
        del self.blocks[len(self.blocks) - depth :]
        self.branches += 1
        new = [*(block.logs for block in orphans), ()] if logs is None else logs
        for of_block in new:
            self.mine(*of_block)
        return orphans
