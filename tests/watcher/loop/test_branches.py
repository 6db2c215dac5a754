"""URLs that name different branches: the one of the most voices is read."""

from __future__ import annotations

from contextlib import suppress

import pytest
from flask.testing import FlaskClient

from app.db.database import Database
from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import CHAIN, Watched, relay, row, send, status
from tests.watcher.loop.proven import ahead, false_answers, payouts_of


def begin(watched: Watched, urls: int) -> Reader:
    payouts_of(watched.app, 7)
    watched.chain.mine_many(20)
    watched.nodes[:] = [FakeNode(watched.chain) for _ in range(urls)]
    reader = watched.reader()
    watched.settle(reader)
    return reader


def poll(watched: Watched, reader: Reader, times: int = 1, seconds: float = 5) -> None:
    for _ in range(times):
        watched.time.go(seconds)
        with suppress(RpcFault):
            while reader.poll():
                pass
        reader.faults.write(reader.lease)


def grow(watched: Watched, *branches: FakeChain) -> None:
    for branch in branches or (watched.chain,):
        branch.mine()


@pytest.mark.parametrize("liar", [0, 1, 2])
def test_of_three_urls_the_branch_of_two_is_read(
    database: Database, watched: Watched, client: FlaskClient, liar: int
) -> None:
    reader = begin(watched, 3)
    false = watched.nodes[liar].chain = ahead(watched.chain, 3, relay(7))
    watched.chain.mine(send(1))
    for _ in range(3):
        grow(watched)
    poll(watched, reader, 2)
    for _ in range(10):
        grow(watched, watched.chain, false)
        poll(watched, reader)
        assert status(client, 7) == 1
    assert row(database).live_to_hash == watched.chain.head.hash
    assert status(client, 1, {1}) == 3
    assert false_answers(database) == []


def test_of_two_urls_the_branch_that_is_read_stays_until_the_split_ends(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    reader = begin(watched, 2)
    false = watched.nodes[0].chain = ahead(watched.chain, 1, relay(7))
    poll(watched, reader)
    assert status(client, 7) == 5
    for _ in range(12):
        grow(watched, watched.chain, false)
        poll(watched, reader)
    assert status(client, 7) == 1
    assert row(database).live_to_hash == false.head.hash
    assert "the chain is split" in row(database).fault
    watched.nodes[0].chain = watched.chain
    grow(watched)
    poll(watched, reader, 2)
    assert row(database).live_to_hash == watched.chain.head.hash
    assert not reader.view.is_split
    assert status(client, 7) == 1


def test_true_payout_comes_back_when_the_split_ends(watched: Watched, client: FlaskClient) -> None:
    reader = begin(watched, 2)
    other = FakeChain(CHAIN, 0, list(watched.chain.blocks), branches=5)
    watched.nodes[1].chain = other
    watched.chain.mine(relay(7))
    other.mine()
    poll(watched, reader)
    assert status(client, 7) == 5
    for _ in range(5):
        grow(watched, watched.chain, other)
        poll(watched, reader)
    assert status(client, 7) == 1
    watched.nodes[1].chain = watched.chain
    grow(watched)
    poll(watched, reader, 2)
    assert status(client, 7) == 5


def test_what_two_urls_had_and_is_final_gives_way_only_to_two(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    watched.max_reorg = 100
    reader = begin(watched, 2)
    watched.chain.mine(relay(7))
    watched.chain.mine_many(12)
    poll(watched, reader, 3)
    other = FakeChain(CHAIN, 0, list(watched.chain.blocks[:21]), branches=5)
    other.mine_many(20)
    watched.nodes[1].chain = other
    watched.nodes[0].fault = lambda _body: (500, {}, b"")
    poll(watched, reader, 200, seconds=10)
    assert status(client, 7) == 5
    assert row(database).live_to_hash == watched.chain.head.hash
    watched.nodes[0].chain, watched.nodes[0].fault = other, lambda _body: None
    poll(watched, reader, 20, seconds=10)
    assert row(database).live_to_hash == other.head.hash
    assert status(client, 7) == 1


def test_url_that_stands_still_on_an_orphan_is_left(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    """Its vote counts as long as its newest block is not ten minutes older than that of the other URL."""
    reader = begin(watched, 2)
    stuck = FakeChain(CHAIN, 0, list(watched.chain.blocks), branches=5)
    stuck.mine()
    watched.nodes[0].chain = stuck
    poll(watched, reader)
    assert row(database).live_to_hash == stuck.head.hash
    watched.chain.mine(relay(7))
    for _ in range(90):
        watched.chain.mine_many(5)
        poll(watched, reader)
    assert row(database).live_to_hash == watched.chain.head.hash
    assert status(client, 7) == 5
