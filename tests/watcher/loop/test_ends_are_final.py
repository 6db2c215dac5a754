"""When an end is final: where two URLs returned it, or the others had ten minutes to deny it.

What one of two URLs invents when blocks are read a second time is no more final than at the first time.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from flask.testing import FlaskClient

from app.transfers.rules.events.event_types import TransferReleased
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber
from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from app.watcher.services.readings import reported
from tests.feed.services.world import NOW, event, feed, sent
from tests.watcher.fake_chain import START, FakeLog
from tests.watcher.fake_node import FalseBlock
from tests.watcher.kit import CHAIN, OTHER, TOKEN, USER, Watched, leaves_out, log_of, queued, relay, send
from tests.watcher.loop.proven import payouts_of
from tests.watcher.loop.table import (
    DELIVERED,
    INVENTED,
    PAID,
    PAYOUT,
    PENDING,
    SEND,
    Chain,
    World,
    does,
    unrelated,
)


def is_final(client: FlaskClient) -> bool:
    answer = client.post("/v2/getTransferStatus", json={"transfer_id": "0x" + (7).to_bytes(32, "big").hex()})
    return answer.headers["X-Transfer-Terminal"] == "true"


def pay(watched: Watched, urls: int) -> Reader:
    """A payout that is deep enough, which the first URL returned while the others did not answer."""
    payouts_of(watched, 7)
    watched.add_urls(urls - 1)
    watched.chain.mine(send(1))
    reader = watched.reader()
    watched.settle(reader)
    for other in watched.nodes[1:]:
        other.fault = lambda _body: (500, {}, b"")
    watched.chain.mine(relay(7))
    reader.poll()
    watched.chain.mine_many(50)
    poll(watched, reader)
    return reader


def poll(watched: Watched, reader: Reader, seconds: float = 100) -> None:
    """Poll, after so many seconds of every clock."""
    now = reader.view.clock() + timedelta(seconds=seconds)
    reader.view.clock = lambda: now
    watched.time.go(seconds)
    with suppress(RpcFault):
        reader.poll()


@pytest.mark.parametrize("urls", [1, 2, 3])
def test_end_of_one_url_is_final_after_ten_minutes(watched: Watched, client: FlaskClient, urls: int) -> None:
    reader = pay(watched, urls)
    assert is_final(client) == (urls == 1)
    for _ in range(4):
        poll(watched, reader)
    assert is_final(client) == (urls == 1)
    for _ in range(4):
        poll(watched, reader)
    assert is_final(client)


def test_end_is_final_once_another_url_returns_it(watched: Watched, client: FlaskClient) -> None:
    reader = pay(watched, 2)
    watched.nodes[1].fault = lambda _body: None
    poll(watched, reader)
    assert is_final(client)


def test_end_that_was_final_stays_against_one_denial(watched: Watched, client: FlaskClient) -> None:
    reader = pay(watched, 2)
    for _ in range(8):
        poll(watched, reader)
    assert is_final(client)
    watched.nodes[0].receipts = watched.nodes[1].receipts_of_blocks = False
    watched.nodes[1].fault, watched.nodes[1].omit = lambda _body: None, leaves_out(relay(7))
    watched.nodes[1].change = lambda method, result: (
        result | {"logs": []} if method == "eth_getTransactionReceipt" and result else result
    )
    for _ in range(40):
        poll(watched, reader)
    assert any(doubt.disputed for doubt in reader.view.readings.doubts.values())
    assert (watched.status(7), is_final(client)) == (Status.TRANSFER_COMPLETED, True)


def test_url_without_the_block_is_waited_for(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = watched.chain.head.number + 1
    does("invents a payout, with receipts that hold it")(watched.nodes[0], number)
    watched.nodes[1].behind = 12
    world.mine(10)
    world.polls(20, seconds=10)
    assert world.status(INVENTED) == DELIVERED
    watched.nodes[1].behind = 0
    world.polls(1, seconds=700)
    world.polls(2)
    assert world.status(INVENTED) == PENDING


def test_disproved_end_stays_retracted(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    world.nodes[1].receipts_of_blocks = False  # one by one they match
    world.goes_on()
    number = world.mine(1, SEND, PAYOUT)
    does("invents a payout, with receipts that hold it")(watched.nodes[0], number)
    world.polls(3)
    assert (world.status(INVENTED), number in world.doubts) == (PENDING, False)
    world.nodes[1].receipts_of_blocks = True
    world.begin()
    for _ in range(20):
        world.mine()
        world.polls(2, seconds=100)
        assert world.status(INVENTED) == PENDING


AT = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
VAULT = b"\xbb" * 20
FROM_VAULT = int("cd" * 32, 16)
POLLS = 15


def invents(world: World, number: int, log: FakeLog) -> None:
    """The first URL has a log in this block that the other one denies."""
    world.nodes[0].false[number] = FalseBlock((unrelated(number), log), "false", True)


def served(world: World, number: int) -> list[int]:
    """The polls after which a transfer is answered as paid."""
    found = []
    for poll in range(POLLS):
        world.mine()
        world.polls(1, 5)
        if world.status(number) == DELIVERED:
            found.append(poll)
    return found


def payouts_reported(world: World, number: int) -> bool:
    """Whether a payout in this block was ever reported, also where that was retracted."""
    facts = reported(world.watched.database, CHAIN, BlockNumber(number), BlockNumber(number))
    return any(isinstance(each.event, TransferReleased) for each in facts)


def test_payout_of_a_contract_that_was_added(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    feed(watched.app, sent(FROM_VAULT, AT, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))
    number = world.mine()
    world.goes_on()
    watched.changes["vaults"] = frozenset({VAULT})
    signature = "Withdrawn(bytes32,address,address,uint256,uint64,bytes32,address)"
    values = (FROM_VAULT % 10**9, USER, TOKEN, 990, OTHER, FROM_VAULT, USER)
    invents(world, number, log_of(signature, *values, tx="false", address=VAULT))
    world.begin()
    assert len(served(world, FROM_VAULT)) <= 2
    assert world.status(FROM_VAULT) != DELIVERED


def test_payout_known_to_be_false_is_not_reported(watched: Watched) -> None:
    """The first and the third URL denied it. After a contract was added the second one is read first."""
    world = World(watched, 3, Chain.NO_ROOTS)
    number = watched.chain.head.number + 1
    logs = (unrelated(number), SEND, relay(INVENTED, tx="false"))
    world.nodes[1].false[number] = FalseBlock(logs, "false", True)
    world.mine(1, SEND)
    world.polls(3)
    world.mine(8)
    watched.changes["vaults"] = frozenset({VAULT})
    world.nodes[0].fault = lambda _body: (500, {}, b"")
    world.begin()
    world.polls(3)
    assert not payouts_reported(world, number)


def test_payout_below_the_first_block_of_before(watched: Watched) -> None:
    for number in range(30):
        watched.chain.mine(unrelated(number + 1))
    watched.from_block = 31
    world = World(watched, 2, Chain.NO_ROOTS)
    world.goes_on()
    watched.from_block = 1
    invents(world, 5, relay(INVENTED, tx="false"))
    world.begin()
    assert len(served(world, INVENTED)) <= 2
    assert world.status(INVENTED) == PENDING


def test_payout_after_a_reporter_took_blocks_back(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = world.watched.chain.head.number + 1
    invents(world, number, relay(INVENTED, tx="false"))
    world.mine()
    world.polls(3)
    assert world.status(INVENTED) == PENDING
    feed(watched.app, event("chain.reorged", "reorg", AT, chain_id=CHAIN, from_block=number))
    assert len(served(world, INVENTED)) <= 2
    assert world.status(INVENTED) == PENDING


def test_payout_after_a_contract_was_removed(watched: Watched) -> None:
    watched.changes["vaults"] = frozenset({VAULT})
    world = World(watched, 2, Chain.NO_ROOTS)
    number = world.mine()
    world.polls(2)
    watched.changes["vaults"] = frozenset()
    invents(world, number, relay(INVENTED, tx="false"))
    world.begin()
    assert len(served(world, INVENTED)) <= 2
    assert world.status(INVENTED) == PENDING


def test_payout_whose_queueing_one_url_leaves_out(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = world.watched.chain.head.number + 1
    invents(world, number, relay(PAID, tx="payout"))
    world.mine(1, queued(PAID, "payout"), relay(PAID, tx="payout"))
    assert len(served(world, PAID)) <= 2
    world.goes_on()
    assert world.status(PAID) != DELIVERED
