"""A chain that is a function of a few numbers, and its answers as a node's bytes.

Blocks have only the transactions of our logs, one each. What a reader can check fits: parents, filters, the
roots of receipts, and the hashes of the headers. Roots of transactions and of the state are made up.
"""

from __future__ import annotations

import hashlib
import random
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from app.values.crypto import keccak256
from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Log
from app.watcher.rules.proofs import EMPTY_ROOT, Receipt, encode, encode_list, encode_number, receipts_root
from bench.watching.contracts import make
from bench.watching.setting import BLOCK_SECONDS, CHAIN, FIRST_BLOCK, ON_TOP, bridges

ZERO = "0x" + "0" * 64
HEADER = (
    '{"number":"0x%x","hash":"%s","parentHash":"%s","timestamp":"0x%x","logsBloom":"0x%s",'
    '"miner":"0x' + "0" * 40 + '","gasUsed":"0x%x","gasLimit":"0x1c9c380","baseFeePerGas":"0x1",'
    '"nonce":"0x0000000000000000","mixHash":"' + ZERO + '","stateRoot":"' + ZERO + '","receiptsRoot":"0x%s",'
    '"transactionsRoot":"' + ZERO + '","sha3Uncles":"' + ZERO + '",'
    '"size":"0x400","difficulty":"0x0",'
    '"totalDifficulty":"0x0","extraData":"0x","uncles":[],"transactions":[%s]}'
)
TRANSACTION = (
    '{"hash":"%s","transactionIndex":"0x%x","blockNumber":"0x%x","blockHash":"%s",'
    '"from":"0x' + "11" * 20 + '","to":"%s","input":"0x",'
    '"value":"0x0","nonce":"0x0","type":"0x0","gas":"0x5208",'
    '"gasPrice":"0x1","r":"0x1","s":"0x1","v":"0x1b"}'
)
LOG = (
    '{"address":"%s","topics":["%s"],"data":"0x%s","blockNumber":"0x%x","blockHash":"%s","blockTimestamp":"0x%x",'
    '"transactionHash":"%s","transactionIndex":"0x%x","logIndex":"0x%x","removed":false}'
)
RECEIPT = (
    '{"transactionHash":"%s","transactionIndex":"0x%x","blockNumber":"0x%x","blockHash":"%s","type":"0x0",'
    '"status":"0x1","cumulativeGasUsed":"0x%x","gasUsed":"0x5208","logsBloom":"0x%s","logs":[%s]}'
)
GAS = 0x5208
NO_LOGS = "0" * 512


@dataclass(frozen=True, slots=True)
class Written:
    """A log before its block has a hash."""

    block: int
    place: int
    address: str
    topic: str
    data: str
    tx_hash: str

    @property
    def receipt(self) -> Receipt:
        log = Log(
            BlockNumber(self.block), ZERO, self.tx_hash, self.place, bytes.fromhex(self.address[2:]),
            (bytes.fromhex(self.topic[2:]),), bytes.fromhex(self.data), self.place,
        )  # fmt: skip
        bloom = bytes.fromhex(_bloom(((self.address, self.topic),)))
        return Receipt(0, 1, GAS * (self.place + 1), bloom, [log])


class Chain:
    """The answers to all requests of a reader of logs."""

    def __init__(self, blocks: int, logs: int) -> None:
        """
        :param blocks: that may have logs; the last of those on top has the present time.
        :param logs: so many, spread over the blocks at random.
        """
        self.bridges = bridges()
        self.head = FIRST_BLOCK + blocks - 1 + ON_TOP
        self._began = int(time.time()) - BLOCK_SECONDS * (blocks + ON_TOP)
        places = random.Random(CHAIN).choices(range(blocks), k=logs)
        self.logs: list[Written] = []
        self._of: dict[int, list[Written]] = defaultdict(list)
        self._by_tx: dict[str, Written] = {}
        for number, place in enumerate(sorted(places)):
            self._append(FIRST_BLOCK + place, number)
        self._blocks = [log.block for log in self.logs]
        self._roots = {number: receipts_root([log.receipt for log in of]) for number, of in self._of.items()}
        self._blooms = {
            number: _bloom(tuple((log.address, log.topic) for log in of)) for number, of in self._of.items()
        }
        self._hashes: dict[int, str] = {}
        for number in range(FIRST_BLOCK - 1, self.head + 1):
            self._hashes[number] = "0x" + keccak256(self._header(number)).hex()
        self._texts = {log.tx_hash: self._text(log) for log in self.logs}

    def time_of(self, block: int) -> int:
        """Unix seconds."""
        return self._began + (block - FIRST_BLOCK) * BLOCK_SECONDS

    def hash_of(self, number: int) -> str:
        """With 0x. Those of blocks that no reader asks for are made up."""
        return self._hashes.get(number) or "0x" + hashlib.sha256(f"{CHAIN}:{number}".encode()).hexdigest()

    def _header(self, number: int) -> bytes:
        """The encoded fields, in the order since London."""
        nothing, gas = bytes(32), GAS * len(self._of.get(number, ()))
        return encode_list(
            (
                encode(bytes.fromhex(self.hash_of(number - 1)[2:])), encode(nothing), encode(bytes(20)),
                encode(nothing), encode(nothing), encode(self._root(number)),
                encode(bytes.fromhex(self._bloom(number))), encode_number(0), encode_number(number),
                encode_number(0x1C9C380), encode_number(gas), encode_number(self.time_of(number)),
                encode(b""), encode(nothing), encode(bytes(8)), encode_number(1),
            )
        )  # fmt: skip

    def _root(self, number: int) -> bytes:
        return self._roots.get(number, EMPTY_ROOT)

    def _bloom(self, number: int) -> str:
        return self._blooms.get(number, NO_LOGS)

    def logs_between(
        self, first: int, last: int, addresses: Collection[str], topics: Collection[str]
    ) -> Iterator[str]:
        """Those that match, as JSON; empty filters match all."""
        for log in self.logs[bisect_left(self._blocks, first) : bisect_right(self._blocks, last)]:
            if (not addresses or log.address in addresses) and (not topics or log.topic in topics):
                yield self._texts[log.tx_hash]

    def block(self, number: int, whole: bool) -> str:
        """A block as JSON, with the whole transactions or with their hashes."""
        logs = self._of.get(number, ())
        own, parent = self.hash_of(number), self.hash_of(number - 1)
        if whole:
            transactions = ",".join(
                TRANSACTION % (log.tx_hash, place, number, own, log.address) for place, log in enumerate(logs)
            )
        else:
            transactions = ",".join(f'"{log.tx_hash}"' for log in logs)
        return HEADER % (
            number, own, parent, self.time_of(number), self._bloom(number), GAS * len(logs),
            self._root(number).hex(), transactions,
        )  # fmt: skip

    def receipts(self, number: int) -> str:
        """The receipts of a block as JSON."""
        return "[" + ",".join(self._receipt(log) for log in self._of.get(number, ())) + "]"

    def receipt(self, tx_hash: str) -> str:
        log = self._by_tx.get(tx_hash)
        return "null" if log is None else self._receipt(log)

    def _receipt(self, log: Written) -> str:
        bloom = _bloom(((log.address, log.topic),))
        own, gas = self._hashes[log.block], GAS * (log.place + 1)
        return RECEIPT % (log.tx_hash, log.place, log.block, own, gas, bloom, self._texts[log.tx_hash])

    def _text(self, log: Written) -> str:
        return LOG % (
            log.address, log.topic, log.data, log.block, self._hashes[log.block], self.time_of(log.block),
            log.tx_hash, log.place, log.place,
        )  # fmt: skip

    def _append(self, block: int, number: int) -> None:
        made = make(self.bridges, str(CHAIN), number)
        place = len(self._of[block])
        tx_hash = "0x" + hashlib.sha256(f"tx {CHAIN}:{number}".encode()).hexdigest()
        address, topic = "0x" + made.address.hex(), "0x" + made.topic.hex()
        log = Written(block, place, address, topic, made.data.hex(), tx_hash)
        self.logs.append(log)
        self._of[block].append(log)
        self._by_tx[tx_hash] = log


@lru_cache(maxsize=4096)
def _bloom(entries: tuple[tuple[str, str], ...]) -> str:
    bits = 0
    for text in {text for entry in entries for text in entry}:
        bits |= _bits(text)
    return f"{bits:0512x}"


@lru_cache(maxsize=4096)
def _bits(text: str) -> int:
    """The three bits that an address or topic sets (Yellow Paper, 4.3.1)."""
    digest = keccak256(bytes.fromhex(text[2:]))
    return sum({1 << (int.from_bytes(digest[i : i + 2]) & 2047): 0 for i in (0, 2, 4)})
