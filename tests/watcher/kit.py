"""A chain that is watched: fake nodes, a reader under a lease, and what the database has afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from msgspec.structs import replace
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.estimates.models import PoolCounter
from app.feed.services.ingest import Intake
from app.http.application import part_of
from app.network.rules.validation_facts import NetworkFacts
from app.network.rules.watch_terms import Finality, WatchedNetwork, WatchTerms
from app.transfers.models import Transfer
from app.transfers.rules.events.contract_ids import pool_transfer_id
from app.values.crypto import keccak256
from app.values.identifiers import BlockNumber, ChainId, PoolKey
from app.watcher.loop.faults import FaultBook
from app.watcher.loop.reader import Reader
from app.watcher.loop.view import View
from app.watcher.loop.writer_share import WriterShare
from app.watcher.queries import newest_misses, watch_row
from app.watcher.rpc.client import Client, Deadline
from app.watcher.rpc.faults import RpcFault
from app.watcher.rpc.node import Node
from app.watcher.rpc.nodes import Nodes
from app.watcher.services.lease import Lease, take
from app.watcher.services.readings import follow_terms, load
from tests.feed.services.world import forget_events, token
from tests.watcher.fake_chain import FakeChain, FakeLog
from tests.watcher.fake_node import FakeNode

CHAIN, OTHER = ChainId(1), ChainId(2)
POOL = b"\xaa" * 20
TOKEN = bytes.fromhex(token(CHAIN, "USDT")[2:])
"""As the network of the tests lists it."""
USER = b"\x55" * 20
NAMES = ("RPC_URL_A", "RPC_URL_B", "RPC_URL_C")
REFUNDED = int("ab" * 32, 16)
SENT = {1, 2, 9, REFUNDED}
"""Numbers of sends that tests request besides payouts."""
KEY = "https://node.example/v3/key-that-nobody-may-see"


def word(value: int | bytes) -> bytes:
    """32 bytes."""
    return value.to_bytes(32, "big") if isinstance(value, int) else value.rjust(32, b"\0")


def log_of(signature: str, *values: int | bytes, tx: str = "", address: bytes = POOL) -> FakeLog:
    """A log of a contract's event with static arguments."""
    return FakeLog(address, (keccak256(signature.encode()),), b"".join(map(word, values)), tx)


ELSEWHERE = log_of("Transfer(address,address,uint256)", 1, 2, 3, address=b"\xcc" * 20)
"""A log of a contract that is not watched."""


def sent_id(number: int, amount: int = 1000) -> bytes:
    """The transfer id of a pool send, by which ``answers`` knows its number."""
    transfer_id = pool_transfer_id(
        sender=USER, receiver=USER, token=TOKEN, amount=amount, dst_chain_id=OTHER, nonce=number % 2**64,
        src_chain_id=CHAIN,
    )  # fmt: skip
    _NUMBERS[transfer_id] = number
    return transfer_id


_NUMBERS: dict[bytes, int] = {}


def send(number: int, amount: int = 1000, tx: str = "") -> FakeLog:
    """A pool send with this nonce."""
    return log_of(
        "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)",
        sent_id(number, amount), USER, USER, TOKEN, amount, OTHER, number % 2**64, 5000, tx=tx,
    )  # fmt: skip


def relay(number: int, amount: int = 990, tx: str = "") -> FakeLog:
    """A payout of a transfer that came from the other chain."""
    return log_of(
        "Relay(bytes32,address,address,address,uint256,uint64,bytes32)",
        number + 10_000, USER, USER, TOKEN, amount, OTHER, number, tx=tx,
    )  # fmt: skip


def refund(number: int, amount: int = 1000, tx: str = "") -> FakeLog:
    """A payout of the funds of ``send(number)``."""
    return log_of(
        "WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)",
        number + 10_000, 7, USER, TOKEN, amount, sent_id(number), tx=tx,
    )  # fmt: skip


def queued(number: int, tx: str) -> FakeLog:
    """A relay or refund is put into the delay queue, by the transaction that logs it."""
    return log_of("DelayedTransferAdded(bytes32)", number + 10_000, tx=tx)


def executed(number: int, amount: int = 990) -> FakeLog:
    """A payout leaves the delay queue."""
    return log_of(
        "DelayedTransferExecuted(bytes32,address,address,uint256)", number + 10_000, USER, TOKEN, amount
    )


def rotation(*signers: bytes) -> FakeLog:
    """A new validator set, of equal powers."""
    count = len(signers)
    return log_of(
        "SignersUpdated(address[],uint256[])", 64, 96 + 32 * count, count, *signers, count, *[1] * count
    )


def liquidity(number: int, amount: int, tx: str = "") -> FakeLog:
    """A provider's deposit."""
    return log_of("LiquidityAdded(uint64,address,address,uint256)", number, USER, TOKEN, amount, tx=tx)


def terms(**changes: Any) -> WatchTerms:
    """How chain 1 is watched."""
    values: dict[str, Any] = {
        "chain_id": CHAIN,
        "name": "Ethereum",
        "block_delay": 3,
        "from_block": BlockNumber(1),
        "finality": 6,
        "poll_seconds": 1.0,
        "rpc": NAMES[:1],
        "pool_bridge": POOL,
        "vaults": frozenset(),
        "bridges": frozenset(),
    }
    return WatchTerms(**values | changes)


def network(**facts: Any) -> WatchedNetwork:
    """What the configuration has for the logs."""
    usual: dict[str, Any] = {
        "symbols": {(CHAIN, TOKEN): ("USDT",)},
        "pools": frozenset({PoolKey(CHAIN, "USDT"), PoolKey(OTHER, "USDT")}),
        "pool_bridges": {CHAIN: POOL},
    }
    return WatchedNetwork("1", NetworkFacts(**usual | facts))


class FakeTime:
    """Seconds that pass when a test moves them."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def go(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Watched:
    """One chain with its nodes, and readers of it one after another."""

    app: Flask
    chain: FakeChain = field(default_factory=FakeChain)
    nodes: list[FakeNode] = field(default_factory=list)
    finality: Finality = 6
    from_block: int = 1
    max_reorg: int = 50
    time: FakeTime = field(default_factory=FakeTime)
    changes: dict[str, Any] = field(default_factory=dict)
    takes: int = 0

    def __post_init__(self) -> None:
        if not self.nodes:
            self.nodes = [FakeNode(self.chain)]

    @property
    def database(self) -> Database:
        return part_of(self.app, Database)

    @cached_property
    def client(self) -> FlaskClient:
        return self.app.test_client()

    @property
    def row(self) -> Any:
        """The row of the chain."""
        return row(self.database)

    @property
    def missed(self) -> Sequence[Any]:
        """The rereads that differed."""
        with reading(self.database.engine) as connection:
            return newest_misses(connection, CHAIN, 1000)

    @property
    def answers(self) -> dict[str, Any]:
        """The status of every transfer, and the counters of every pool."""
        return answers(self.database)

    def status(self, number: int, sends: Collection[int] = SENT) -> int:
        """The status that users get: of a send by its number, of a payout by the transfer that it names."""
        return status(self.client, number, sends)

    def add_urls(self, count: int) -> None:
        """Have the chain read by so many more URLs."""
        self.nodes += [FakeNode(self.chain) for _ in range(count)]

    def terms(self) -> WatchTerms:
        names = NAMES[: len(self.nodes)]
        values = {"finality": self.finality, "from_block": BlockNumber(self.from_block), "rpc": names}
        return terms(**values | self.changes)

    def lease(self) -> Lease:
        """Take the lease from its holder."""
        self.takes += 1
        now = datetime.now(UTC) + timedelta(days=self.takes)
        lease = take(replace(self.database, clock=lambda: now), CHAIN, f"watcher-{self.takes}", 1)
        assert lease is not None
        return lease

    def reader(self, known: WatchedNetwork | None = None) -> Reader:
        """One that begins with what the database has, as after a kill."""
        lease = self.lease()
        follow_terms(self.database, lease, self.terms())
        faults = FaultBook(self.database, CHAIN, self.time)
        nodes = [
            Node(name, CHAIN, client_of(node, self.time))
            for name, node in zip(NAMES, self.nodes, strict=False)
        ]
        usable = Nodes(nodes, self.time, faults.note)
        reader = make_reader(self.app, lease, self.terms(), known or network(), usable, faults, self.time)
        reader.view.max_reorg = self.max_reorg
        return reader

    def settle(self, reader: Reader, rounds: int = 60) -> None:
        """Poll and do everything else until nothing is left to do, over all passing faults."""
        for _ in range(rounds):
            self.time.go(100)
            try:
                busy = reader.poll() or reader.background() is not None or reader.reread() or reader.prove()
            except RpcFault:
                continue
            if not busy:
                assert_same(self.database, reader)
                return
        raise AssertionError("it never comes to rest")

    def turn(self, reader: Reader) -> bool:
        """One round of all that a reader does. Returns whether something failed."""
        failed = False
        for work in (reader.poll, reader.background, reader.reread, reader.prove):
            try:
                work()
            except RpcFault:
                failed = True
        self.time.go(1)
        return failed

    def expect_undisturbed(self) -> None:
        """The answers are those of a reader to whom nothing happened, with honest URLs."""
        found, of_what = self.answers, (self.chain.head.hash, self.terms())
        if of_what not in _UNDISTURBED:
            forget_events(self.app)
            self.nodes = [FakeNode(self.chain) for _ in self.nodes]
            self.settle(self.reader())
            _UNDISTURBED[of_what] = self.answers
        assert found == _UNDISTURBED[of_what]


_UNDISTURBED: dict[tuple[str, WatchTerms], dict[str, Any]] = {}
"""By the newest block, whose hash identifies the whole chain, and how the chain is watched."""


class _NoDeadline(Deadline):
    """Starts no thread for each request: nothing waits."""

    is_over = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        yield


def client_of(node: FakeNode, time: FakeTime) -> Client:
    """A client of the node in this process."""
    client = Client(KEY, monotonic=time, sleep=time.go, transport=node.transport())
    client._deadline = _NoDeadline()
    return client


def make_reader(
    app: Flask,
    lease: Lease,
    terms: WatchTerms,
    known: WatchedNetwork,
    nodes: Nodes,
    faults: FaultBook,
    time: Callable[[], float],
) -> Reader:
    """One that begins with what the database has."""
    database, intake = part_of(app, Database), part_of(app, Intake)
    view = View(
        terms=terms,
        network=known,
        nodes=nodes,
        readings=load(database, terms.chain_id),
        clock=database.clock,
        monotonic=time,
        max_reorg=intake.max_reorg_blocks,
    )
    return Reader(database, intake, lease, view, WriterShare(time), faults)


def assert_same(database: Database, reader: Reader) -> None:
    """What the reader remembers is what the database has."""
    stored, mine = load(database, CHAIN), reader.view.readings
    for name in ("live_from", "live_to", "backfill_from", "backfilled_to"):
        assert getattr(stored, name) == getattr(mine, name), name
    assert list(stored.headers) == list(mine.headers)
    assert list(stored.spans) == list(mine.spans)
    assert list(stored.waiting) == list(mine.waiting)


def row(database: Database) -> Any:
    """The row of the chain."""
    with reading(database.engine) as connection:
        return watch_row(connection, CHAIN)


def leaves_out(*logs: FakeLog) -> Callable[[dict[str, Any]], bool]:
    omitted = {(f"0x{log.topics[0].hex()}", f"0x{log.data.hex()}") for log in logs}
    return lambda log: (log["topics"][0], log["data"]) in omitted


def status(client: FlaskClient, number: int, sends: Collection[int] = SENT) -> int:
    """What users are answered: of a send by its number, of a payout by the transfer that it names."""
    transfer_id = sent_id(number) if number in sends else number.to_bytes(32, "big")
    answer = client.post("/v2/getTransferStatus", json={"transfer_id": "0x" + transfer_id.hex()})
    return int(answer.get_json()["status"])


def _named(transfer_id: bytes) -> str:
    number = _NUMBERS.get(transfer_id)
    return f"paid {int.from_bytes(transfer_id)}" if number is None else str(number)


def answers(database: Database) -> dict[str, Any]:
    """The status of every transfer, and the counters of every pool."""
    with reading(database.engine) as connection:
        transfers = connection.execute(select(Transfer.transfer_id, Transfer.status))
        pools = connection.execute(select(PoolCounter.__table__)).mappings()
        return {
            **{_named(key): status for key, status in transfers if status},
            "pools": [dict(pool) for pool in pools],
        }
