"""A chain that is a function of a few numbers, and its answers as a node's bytes.

Blocks have only the transactions of our logs. The hashes are not those of the encoded headers, which none of
the compared readers checks; all else that a reader can check fits: parents, blooms, places, filters.
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
from bench.watching.contracts import make
from bench.watching.setting import BLOCK_SECONDS, CHAIN, FIRST_BLOCK, ON_TOP, bridges

ZERO = "0x" + "0" * 64
HEADER = (
    '{"number":"0x%x","hash":"%s","parentHash":"%s","timestamp":"0x%x","logsBloom":"0x%s",'
    '"miner":"0x' + "0" * 40 + '","gasUsed":"0x0","gasLimit":"0x1c9c380","baseFeePerGas":"0x1",'
    '"nonce":"0x0000000000000000","mixHash":"'
    + ZERO
    + '","stateRoot":"'
    + ZERO
    + '","receiptsRoot":"'
    + ZERO
    + '",'
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


@dataclass(frozen=True, slots=True)
class Answered:
    """A log as the node returns it, and the values that filters compare."""

    block: int
    address: str
    topic: str
    text: str
    tx_hash: str


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
        self.logs: list[Answered] = []
        self._of: dict[int, list[Answered]] = defaultdict(list)
        for number, place in enumerate(sorted(places)):
            self._append(FIRST_BLOCK + place, number)
        self._blocks = [log.block for log in self.logs]

    def time_of(self, block: int) -> int:
        """Unix seconds."""
        return self._began + (block - FIRST_BLOCK) * BLOCK_SECONDS

    def hash_of(self, block: int) -> str:
        """With 0x."""
        return "0x" + hashlib.sha256(f"{CHAIN}:{block}".encode()).hexdigest()

    def logs_between(
        self, first: int, last: int, addresses: Collection[str], topics: Collection[str]
    ) -> Iterator[str]:
        """Those that match, as JSON; empty filters match all."""
        for log in self.logs[bisect_left(self._blocks, first) : bisect_right(self._blocks, last)]:
            if (not addresses or log.address in addresses) and (not topics or log.topic in topics):
                yield log.text

    def block(self, number: int, whole: bool) -> str:
        """A block as JSON, with the whole transactions or with their hashes."""
        logs = self._of.get(number, ())
        own = self.hash_of(number)
        if whole:
            transactions = ",".join(
                TRANSACTION % (log.tx_hash, place, number, own, log.address) for place, log in enumerate(logs)
            )
        else:
            transactions = ",".join(f'"{log.tx_hash}"' for log in logs)
        bloom = _bloom(tuple((log.address, log.topic) for log in logs))
        parent = self.hash_of(number - 1)
        return HEADER % (number, own, parent, self.time_of(number), bloom, transactions)

    def _append(self, block: int, number: int) -> None:
        made = make(self.bridges, str(CHAIN), number)
        place = len(self._of[block])
        tx_hash = "0x" + hashlib.sha256(f"tx {CHAIN}:{number}".encode()).hexdigest()
        address, topic = "0x" + made.address.hex(), "0x" + made.topic.hex()
        at = self.time_of(block)
        data = made.data.hex()
        text = LOG % (address, topic, data, block, self.hash_of(block), at, tx_hash, place, place)
        log = Answered(block, address, topic, text, tx_hash)
        self.logs.append(log)
        self._of[block].append(log)


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
