"""Transfers of every kind on two real EVMs, read by the watcher: each status in its time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.network.document import import_within, read_document
from app.network.snapshot import SnapshotSource
from app.transfers.models import Event
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address
from app.values.identifiers import ChainId
from app.watcher.loop.faults import FaultBook
from app.watcher.loop.reader import Reader
from app.watcher.rpc.client import Client
from app.watcher.rpc.faults import RpcFault
from app.watcher.rpc.node import Node
from app.watcher.rpc.nodes import Nodes, Trouble
from app.watcher.services.chains import watch_terms, watched_network
from app.watcher.services.lease import take
from app.watcher.services.readings import follow_terms
from demo.anvil import Anvil
from demo.chains import LEFT, POOL, RIGHT, USDX, USERS, prepare
from demo.contracts import events_of
from demo.network import RPC_NAMES, document
from demo.transfers import Send, liquidity_withdrawal
from tests.applications import Applications
from tests.builders import network as build
from tests.databases import SharedDatabase
from tests.feed.services.world import feed
from tests.programs import anvil
from tests.watcher.kit import make_reader
from tests.watcher.on_anvil.plan import (
    AFTER,
    BEFORE,
    BLOCK_DELAYS,
    BLOCK_SECONDS,
    CHAINS,
    FIRST_TURN,
    Plan,
    large,
)

pytestmark = [pytest.mark.one_database, pytest.mark.system]

Chains = dict[int, Anvil]

START = 1_790_000_000
"""The time of the genesis blocks."""

NOW = datetime.fromtimestamp(START + 5_000, UTC)
"""The gateway's clock, which does not move."""

SECONDS = 30.0
"""From one poll to the next, on the watcher's clock; what pauses is over by then, as a rule."""

WAYS = {
    "paid": (0, 1, 3, 4, 5),
    "paid late": (0, 1, 3, 4, 11, 5),
    "refunded": (0, 1, 3, 6, 7, 8, 9, 10),
    "refunded late": (0, 1, 3, 6, 7, 8, 9, 10),
}


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Chains, dict[int, str]]]:
    """Both nodes with the contracts on them, and how they are then."""
    anvil()
    with Anvil(LEFT, start=START) as left, Anvil(RIGHT, start=START) as right:
        nodes = {LEFT: left, RIGHT: right}
        for node in nodes.values():
            prepare(node, BEFORE, START + 12)
        yield nodes, {chain: node.snapshot() for chain, node in nodes.items()}


@pytest.fixture
def chains(running: tuple[Chains, dict[int, str]]) -> Chains:
    """Nothing has happened on them yet."""
    nodes, snapshots = running
    for chain, node in nodes.items():
        node.revert(snapshots[chain])
        snapshots[chain] = node.snapshot()
    return nodes


@pytest.fixture
def app(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    """It has both chains watched."""
    app = applications.opener(shared_database, lambda: NOW)()
    configured = document(BEFORE, block_delays=(BLOCK_DELAYS[LEFT], BLOCK_DELAYS[RIGHT]), watch_from_block=0)
    with app.app_context():
        with writing(part_of(app, Database).engine) as connection:
            import_within(connection, read_document(build.text(configured)), NOW)
        yield app


@dataclass
class Watching:
    """The watcher's own loop, one poll at a time, on a clock that the test moves."""

    app: Flask
    chains: Chains
    seconds: float = 0.0
    readers: dict[int, Reader] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        database, snapshots = part_of(self.app, Database), part_of(self.app, SnapshotSource)
        for chain, terms in watch_terms(snapshots).items():
            lease = take(database, chain, "test", 60)
            assert lease is not None
            follow_terms(database, lease, terms)
            self.readers[chain] = make_reader(
                self.app,
                lease,
                terms,
                watched_network(database, snapshots),
                self._nodes(chain),
                FaultBook(database, chain, self.monotonic),
                self.monotonic,
            )

    def _nodes(self, chain: ChainId) -> Nodes:
        node = Node(RPC_NAMES[chain], chain, Client(self.chains[chain].url, seconds=5.0))
        return Nodes([node], self.monotonic, self.troubles.append)

    def monotonic(self) -> float:
        return self.seconds

    def poll(self, chain: int) -> bool:
        """One poll; whether it went well."""
        self.seconds += SECONDS
        try:
            self.readers[chain].poll()
        except RpcFault as fault:
            self.faults.append(f"{chain}: {fault}")
            return False
        return True


@pytest.fixture
def watching(app: Flask, chains: Chains) -> Iterator[Watching]:
    watching = Watching(app, chains)
    yield watching
    for reader in watching.readers.values():
        reader.view.nodes.close()


def mine(node: Anvil, plan: Plan, turn: int) -> None:
    """The block of a turn, as it is planned."""
    for call in plan.turns[turn].calls[node.chain_id] if turn in plan.turns else ():
        call.send(node)
    node.mine(plan.time(turn))
    assert node.head == turn


def statuses(app: Flask, sends: Iterable[Send]) -> dict[str, int]:
    """The status number of each transfer."""
    client = app.test_client()
    return {
        send.text: client.post("/v2/getTransferStatus", json={"transfer_id": send.text}).get_json()["status"]
        for send in sends
    }


def played(app: Flask, chains: Chains, watching: Watching, plan: Plan, more: int = 8) -> Iterator[int]:
    """The turns, each after it was mined, read and reported."""
    for turn in range(FIRST_TURN, plan.last + more):
        for chain in CHAINS:
            mine(chains[chain], plan, turn)
            assert watching.poll(chain), watching.faults
        if turn in plan.turns and (reports := plan.turns[turn].reports):
            reasons = [each.reason for each in feed(app, *reports).refused]
            assert all("must be made by a current validator" in reason for reason in reasons), reasons
        yield turn


def test_every_status_in_its_time(app: Flask, chains: Chains, watching: Watching) -> None:
    plan = Plan(START)
    endings = dict(zip(WAYS, (plan.paid, plan.paid, plan.refunded, plan.refunded), strict=True))
    named: dict[str, str] = {}
    for like in plan.every_kind():
        for name, ending in endings.items():
            late = name.endswith("late")
            send = plan.new(like, **({"amount": large(like)} if late else {}))
            ending(FIRST_TURN + 1, send, delayed=late)
            named[send.text] = name
    seen: dict[str, list[int]] = {send.text: [] for send in plan.sends}
    for _ in played(app, chains, watching, plan):
        for text, number in statuses(app, plan.sends).items():
            seen[text].append(number)
    for text, numbers in seen.items():
        assert tuple(number for number, _ in itertools.groupby(numbers)) == WAYS[named[text]], named[text]
    assert (watching.troubles, watching.faults) == ([], [])
    paid = [send for send in plan.sends if named[send.text] == "paid"]
    assert_latency_is_counted(app, plan, paid)
    assert_ids_are_those_of_the_logs(app, chains, paid)


def assert_latency_is_counted(app: Flask, plan: Plan, paid: list[Send]) -> None:
    """Between any two chains; the middle is that of the transfers that no contract held back."""
    for src, dst in (CHAINS, CHAINS[::-1]):
        query = {"src_chain_id": src, "dst_chain_id": dst}
        path = "/v2/getLatest7DayTransferLatencyForQuery"
        latency = app.test_client().get(path, query_string=query).get_json()
        assert latency["err"] is None
        assert latency["median_transfer_latency_in_second"] % BLOCK_SECONDS == 0
        assert BLOCK_SECONDS * 6 <= latency["median_transfer_latency_in_second"] <= BLOCK_SECONDS * 12


def assert_ids_are_those_of_the_logs(app: Flask, chains: Chains, paid: list[Send]) -> None:
    """The id of an event is that of its log, and of a further fact of it with the type (docs/ingest.md)."""
    with reading(part_of(app, Database).engine) as connection:
        stored = set(connection.scalars(select(Event.event_id)))
    client = app.test_client()
    for send in paid:
        answer = client.post("/v2/getTransferStatus", json={"transfer_id": send.text}).get_json()
        tx_hash = answer["src_block_tx_link"].rpartition("/")[2]
        receipt = chains[send.chain].receipt(tx_hash)
        assert receipt is not None
        log = receipt["logs"][-1]
        fact = f"{send.chain}:{log['blockHash']}:{tx_hash}:{int(log['logIndex'], 16)}"
        assert {fact, f"{fact}:transfer.confirmed"} <= stored
        assert send.id in events_of(receipt)[-1][1].values()


def test_send_of_orphaned_block_is_retracted(app: Flask, chains: Chains, watching: Watching) -> None:
    """Its transaction is mined again, with another time and so in another block; another one is not."""
    plan, node = Plan(START), chains[LEFT]
    stays, goes = (plan.new(like) for like in plan.every_kind()[:4:3])
    node.mine(plan.time(FIRST_TURN))
    below = node.snapshot()
    for branch, sends in enumerate(([stays, goes], [stays])):
        for send in sends:
            send.call().send(node)
        for more in range(1, 3 + branch):
            node.mine(plan.time(FIRST_TURN + more) + branch)
        assert watching.poll(LEFT), watching.faults
        expected = {send.text: Status.TRANSFER_SUBMITTING if send in sends else 0 for send in plan.sends}
        assert statuses(app, plan.sends) == expected
        if not branch:
            node.revert(below)


def test_pools_and_validators_follow_the_logs(
    app: Flask, chains: Chains, watching: Watching, database: Database
) -> None:
    plan = Plan(START)
    for chain in (LEFT, RIGHT):
        plan.call(3, chain, POOL.call(USERS[5], "addLiquidity", USDX.address, 5_000_000))
    native = next(like for like in plan.every_kind() if like.native)
    plan.paid(4, plan.new(native))
    plan.rotate(6)
    plan.call(7, RIGHT, liquidity_withdrawal(RIGHT, USERS[5], 1_200_000, 77, plan.validators(RIGHT, 7)))
    for _ in played(app, chains, watching, plan):
        pass
    with reading(database.engine) as connection:
        rows = connection.execute(select(Event.type, Event.chain_id, Event.body).order_by(Event.seq))
        events = [json.loads(row.body) | {"type": row.type, "chain_id": row.chain_id} for row in rows]
    added = [event for event in events if event["type"] == "liquidity.added"]
    assert {(each["chain_id"], each["symbol"], each["amount"]) for each in added} == {
        (LEFT, "USDX", "5000000"), (RIGHT, "USDX", "5000000")
    }  # fmt: skip
    [taken] = [event for event in events if event["type"] == "liquidity.withdrawn"]
    assert (taken["chain_id"], taken["symbol"], taken["amount"]) == (RIGHT, "USDX", "1200000")
    [sent] = [event for event in events if event["type"] == "transfer.sent"]
    assert (sent["symbol"], sent["amount"]) == ("COIN", str(native.amount))
    rotations = [event for event in events if event["type"] == "validators.updated"]
    last = [each for each in rotations if each["chain_id"] == LEFT][-1]
    assert last["signers"] == [checksum_address(who) for who in AFTER.signers]
    assert last["powers"] == [str(power) for power in AFTER.signer_powers]
