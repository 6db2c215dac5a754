"""Reorganisations: at every depth, also where nothing happens, while nobody reads, and in a backfill."""

from __future__ import annotations

import random

import pytest
from flask import Flask

from app.db.database import Database
from app.watcher.loop.view import TooDeep
from app.watcher.rpc.faults import NoNode, RpcFault
from app.watcher.rpc.sizes import Size
from tests.everyday import volume
from tests.feed.services.world import forget_events
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import Watched, answers, row, send

DEEPEST = 8
SEEDS = volume(400, 8)


@pytest.mark.parametrize("depth", range(1, DEEPEST + 1))
def test_what_it_takes_back_is_taken_back(database: Database, watched: Watched, depth: int) -> None:
    chain = watched.chain
    chain.mine_many(10)
    reader = watched.reader()
    watched.settle(reader)
    for number in range(DEEPEST):
        chain.mine(send(number + 1))
        reader.poll()
    chain.reorg(depth, [()] * (depth + 1))
    watched.settle(reader)
    standing = {str(number + 1) for number in range(DEEPEST - depth)}
    assert set(answers(database)) - {"pools"} == standing
    chain.mine(send(100))
    watched.settle(reader)
    assert "100" in answers(database)


@pytest.mark.one_database
@pytest.mark.parametrize("depth", [1, 5, 20])
def test_a_chain_without_events_is_reorganised(database: Database, watched: Watched, depth: int) -> None:
    chain = watched.chain
    chain.mine_many(40)
    reader = watched.reader()
    watched.settle(reader)
    for _ in range(3):
        chain.reorg(depth)
        watched.settle(reader)
        assert row(database).live_to_hash == chain.head.hash
    assert not reader.poll()


@pytest.mark.one_database
def test_while_nobody_reads(database: Database, watched: Watched) -> None:
    chain = watched.chain
    chain.mine_many(20)
    chain.mine(send(1))
    watched.settle(watched.reader())
    assert "1" in answers(database)
    chain.reorg(3, [(send(2),), (), (), (), ()])
    watched.settle(watched.reader())
    assert set(answers(database)) == {"2", "pools"}


@pytest.mark.one_database
@pytest.mark.parametrize("polls", [1, 3])
@pytest.mark.parametrize("backfills", [0, 1])
def test_reorg_below_reading_takes_all(
    database: Database, watched: Watched, polls: int, backfills: int
) -> None:
    """Reading has only just begun, near the head, and what lies below it is still to be read."""
    watched.finality = 0
    chain = watched.chain
    chain.mine_many(20)
    chain.mine(send(1))
    reader = watched.reader()
    for _ in range(polls):
        chain.mine()
        reader.poll()
    for _ in range(backfills):
        for node in reader.view.nodes.usable():
            node.blocks = Size(5, 5)
        reader.background()
    chain.reorg(polls + 6, [(send(2),)] + [()] * (polls + 7))
    watched.settle(reader)
    assert set(answers(database)) == {"2", "pools"}
    assert row(database).live_to_hash == chain.head.hash


@pytest.mark.one_database
def test_too_deep_reorg_changes_nothing(database: Database, watched: Watched) -> None:
    chain = watched.chain
    chain.mine_many(20)
    chain.mine(send(1))
    chain.mine_many(60)
    reader = watched.reader()
    watched.settle(reader)
    before = answers(database)
    chain.reorg(70, [()] * 75)
    with pytest.raises(TooDeep, match="MAX_REORG_BLOCKS"):
        reader.poll()
    assert answers(database) == before


@pytest.mark.one_database
def test_a_node_that_goes_backwards_lags(database: Database, watched: Watched) -> None:
    chain, (node,) = watched.chain, watched.nodes
    chain.mine_many(20)
    chain.mine(send(1))
    reader = watched.reader()
    watched.settle(reader)
    before = row(database).epoch, answers(database)
    node.behind = 5
    for _ in range(5):
        watched.time.go(10)
        with pytest.raises(NoNode, match="behind"):
            reader.poll()
    node.behind = 0
    chain.mine()
    watched.settle(reader)
    assert (row(database).epoch, answers(database)) == before


@pytest.mark.one_database
def test_shorter_branch_loses_to_longer(database: Database, watched: Watched) -> None:
    """The longer one is that of another node."""
    chain = watched.chain
    chain.mine_many(20)
    orphaned = FakeNode(type(chain)(chain_id=1, blocks=list(chain.blocks), branches=7))
    watched.nodes.append(orphaned)
    orphaned.chain.mine()
    reader = watched.reader()
    for _ in range(3):
        chain.mine(send(1))
        reader.poll()
    watched.settle(reader)
    watched.nodes[0].fault = lambda body: (500, {}, b"") if b"latest" in body else None
    for _ in range(3):
        watched.time.go(100)
        with pytest.raises(NoNode, match="does not name the branch"):
            reader.poll()
    assert "1" in answers(database)


@pytest.mark.one_database
@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_reorgs_equal_undisturbed_reading(
    app: Flask, database: Database, watched: Watched, seed: int
) -> None:
    rng = random.Random(seed)
    chain = watched.chain
    watched.finality = rng.choice([2, 6, 12])
    chain.mine_many(rng.randrange(30))
    reader, sent = watched.reader(), 0
    for _ in range(25):
        what = rng.random()
        if what < 0.5:
            sent += 1
            chain.mine(*(send(sent * 10 + n) for n in range(rng.randrange(3))))
        elif what < 0.7 and chain.head.number > 3:
            depth = rng.randrange(1, min(chain.head.number, 8))
            old = [block.logs for block in chain.blocks[-depth:]]
            kept = [tuple(log for log in logs if rng.random() < 0.7) for logs in old]
            chain.reorg(depth, kept + [()] * rng.randrange(3))
        elif what < 0.8:
            reader = watched.reader()
        elif what < 0.9:
            chain.mine_many(rng.randrange(6))
        watched.time.go(1)
        try:
            if rng.random() < 0.6:
                reader.poll()
            if rng.random() < 0.6:
                reader.background()
            if rng.random() < 0.2:
                reader.reread()
        except RpcFault:  # as the watcher's loop, which tries again
            continue
    watched.settle(reader)
    chain.mine_many(20)
    watched.settle(reader)
    found = answers(database)
    forget_events(app)
    watched.settle(watched.reader())
    assert found == answers(database)
