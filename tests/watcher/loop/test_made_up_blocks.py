"""A URL tells blocks that never were, ahead of the head: what it told falls, and the chain is read on."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from flask.testing import FlaskClient

from app.db.database import Database
from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from tests.feed.services.world import NOW, feed, sent
from tests.watcher.fake_chain import START, FakeBlock, FakeChain
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import CHAIN, NAMES, OTHER, Watched, relay, row, send, status
from tests.watcher.loop.proven import ahead, false_answers


def poll(watched: Watched, reader: Reader, times: int = 1, seconds: float = 1) -> None:
    for _ in range(times):
        watched.time.go(seconds)
        with suppress(RpcFault):
            while reader.poll():
                pass
        reader.faults.write(reader.lease)


def begin(watched: Watched, urls: int) -> Reader:
    """A chain with a payout to come, and its nodes."""
    at = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
    feed(watched.app, sent(7, at, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))
    watched.chain.mine_many(20)
    watched.nodes += [FakeNode(watched.chain) for _ in range(urls - 1)]
    reader = watched.reader()
    watched.settle(reader)
    return reader


def lie(watched: Watched, reader: Reader, liar: int, false: FakeChain) -> None:
    """One of the URLs tells other blocks, while the one before it does not answer."""
    watched.nodes[liar].chain = false
    for node in watched.nodes[:liar]:
        node.fault = lambda _body: (500, {}, b"")
    poll(watched, reader)
    for node in watched.nodes:
        node.chain, node.fault = watched.chain, lambda _body: None


@pytest.mark.parametrize(("urls", "liar"), [(1, 0), (2, 0), (2, 1)])
@pytest.mark.parametrize(
    ("blocks", "at"), [(1, 1), (30, 1), (30, 30), (90, 1), (90, 88), (700, 1), (700, 690)]
)
def test_invented_blocks_are_rolled_back_and_nobody_is_blamed(
    database: Database, watched: Watched, client: FlaskClient, urls: int, liar: int, blocks: int, at: int
) -> None:
    reader = begin(watched, urls)
    lie(watched, reader, liar, ahead(watched.chain, blocks, relay(7), at))
    assert (status(client, 7), row(database).live_to) == (5, 20 + blocks)
    watched.chain.mine(send(1))
    poll(watched, reader, times=9, seconds=10)
    assert (status(client, 7), status(client, 1)) == (1, 1)
    kept = row(database)
    assert (kept.live_to, kept.stopped) == (21, None)
    assert kept.differed == 0
    assert false_answers(database) == []
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert (status(client, 1), row(database).live_to) == (3, 33)


def test_restart_after_kill_detects_the_jump(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    reader = begin(watched, 1)
    lie(watched, reader, 0, ahead(watched.chain, 700, relay(7)))
    assert (status(client, 7), row(database).live_to) == (5, 720)
    watched.chain.mine(send(1))
    reader = watched.reader()
    poll(watched, reader, times=9, seconds=10)
    assert (status(client, 7), status(client, 1), row(database).live_to) == (1, 1, 21)
    assert "jump" not in row(database).extra


def test_unconnected_headers_are_not_believed(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    reader = begin(watched, 2)
    false = ahead(watched.chain, 700, relay(7))
    false.blocks[25] = FakeBlock(25, "0x" + "77" * 32, false.blocks[24].at, (), "elsewhere")
    lie(watched, reader, 0, false)
    watched.chain.mine(send(1))
    poll(watched, reader, times=3, seconds=3)
    assert (status(client, 1), row(database).live_to) == (1, 21)


def test_payout_of_a_branch_that_only_one_of_two_urls_has_is_suspended(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    reader = begin(watched, 2)
    watched.nodes[0].chain = false = ahead(watched.chain, 700, relay(7))
    poll(watched, reader)
    assert status(client, 7) == 5
    for number in range(9):
        watched.chain.mine(send(number + 1))
        false.mine()
        poll(watched, reader, seconds=10)
    assert status(client, 7) == 1
    watched.nodes[0].chain = watched.chain
    poll(watched, reader, times=3, seconds=10)
    assert (status(client, 7), status(client, 9)) == (1, 1)
    assert row(database).live_to == watched.chain.head.number


def test_lagging_second_url_retracts_nothing(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    reader = begin(watched, 2)
    watched.chain.mine_many(300)
    watched.chain.mine(relay(7))
    watched.nodes[1].behind = 250
    poll(watched, reader, times=30, seconds=10)
    assert status(client, 7) == 5
    watched.nodes[0].fault = lambda _body: (500, {}, b"")
    watched.time.go(1000)
    poll(watched, reader, times=30, seconds=10)
    assert (status(client, 7), row(database).live_to, row(database).differed) == (5, 321, 0)


def test_restored_old_node_retracts_nothing(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    reader = begin(watched, 1)
    watched.chain.mine(relay(7))
    watched.chain.mine_many(80)
    watched.settle(reader)
    watched.nodes[0].behind = 70
    poll(watched, reader, times=30, seconds=10)
    watched.nodes[0].behind = 0
    watched.chain.mine(send(1))
    watched.settle(reader)
    assert (status(client, 7), status(client, 1), row(database).differed) == (5, 1, 0)


@pytest.mark.parametrize("urls", [1, 2])
@pytest.mark.parametrize("seconds", [1_000, 1_000_000, 2**62])
def test_future_block_is_fault_of_url(
    database: Database, watched: Watched, client: FlaskClient, urls: int, seconds: int
) -> None:
    reader = begin(watched, urls)
    now = int(NOW.timestamp())
    watched.chain.mine(send(1))
    watched.nodes[0].change = lambda method, result: (
        result | {"timestamp": hex(now + seconds)}
        if method == "eth_getBlockByNumber" and result and int(result["number"], 16) == 21
        else result
    )
    poll(watched, reader)
    assert status(client, 1) == (0 if urls == 1 else 1)
    assert row(database).fault_source in ("", NAMES[0])
    watched.nodes[0].change = lambda _method, result: result
    watched.time.go(100)
    watched.chain.mine(send(2))
    poll(watched, reader)
    assert (status(client, 1), status(client, 2)) == (1, 1)


def test_a_long_absence_is_no_lie(database: Database, watched: Watched, client: FlaskClient) -> None:
    """More blocks than are read at once, of one URL and of two."""
    reader = begin(watched, 1)
    watched.chain.mine_many(900)
    watched.chain.mine(send(1))
    before = watched.nodes[0].requests
    poll(watched, reader)
    assert (status(client, 1), row(database).live_to) == (1, 921)
    assert watched.nodes[0].requests - before < 60
    poll(watched, reader, times=20, seconds=60)
    watched.nodes.append(FakeNode(watched.chain))
    reader = watched.reader()
    watched.chain.mine_many(900)
    watched.chain.mine(send(2))
    before = watched.nodes[0].requests
    poll(watched, reader)
    assert watched.nodes[0].requests - before < 30
    poll(watched, reader, times=20, seconds=60)
    assert (status(client, 2), row(database).differed, row(database).stopped) == (1, 0, None)
