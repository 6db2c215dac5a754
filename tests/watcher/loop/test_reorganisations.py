"""Reorganisations: at every depth, also where nothing happens, while nobody reads, and in a backfill."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from app.watcher.loop.view import TooDeep
from app.watcher.rpc.faults import NoNode
from app.watcher.rpc.sizes import Size
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import Watched, send

DEEPEST = 8


@pytest.mark.parametrize("depth", [1, 4, DEEPEST])
def test_reorg_retracts_orphaned_blocks(watched: Watched, depth: int) -> None:
    chain = watched.chain
    chain.mine_many(10)
    reader = watched.reader()
    watched.settle(reader)
    for number in range(DEEPEST):
        chain.mine(send(number + 1))
        reader.poll()
    chain.reorg(depth, [()] * (depth + 4))  # so deep that what waits for its depth is due
    watched.settle(reader)
    standing = {str(number + 1) for number in range(DEEPEST - depth)}
    assert set(watched.answers) - {"pools"} == standing
    chain.mine(send(100))
    watched.settle(reader)
    assert "100" in watched.answers


@pytest.mark.parametrize("depth", [1, 20])
def test_reorg_without_events_is_followed(watched: Watched, depth: int) -> None:
    chain = watched.chain
    chain.mine_many(40)
    reader = watched.reader()
    watched.settle(reader)
    for _ in range(3):
        chain.reorg(depth)
        watched.settle(reader)
        assert watched.row.live_to_hash == chain.head.hash
    assert not reader.poll()


def test_reorg_between_readers_is_found(watched: Watched) -> None:
    chain = watched.chain
    chain.mine_many(20)
    chain.mine(send(1))
    watched.settle(watched.reader())
    assert "1" in watched.answers
    chain.reorg(3, [(send(2),), (), (), (), ()])
    watched.settle(watched.reader())
    assert set(watched.answers) == {"2", "pools"}


@pytest.mark.parametrize("polls", [1, 3])
@pytest.mark.parametrize("backfills", [0, 1])
def test_reorg_below_reading_takes_all(watched: Watched, polls: int, backfills: int) -> None:
    """Reading has just begun, near the head, and what lies below it is still to be read."""
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
    assert set(watched.answers) == {"2", "pools"}
    assert watched.row.live_to_hash == chain.head.hash


def test_too_deep_reorg_changes_nothing(watched: Watched) -> None:
    chain = watched.chain
    chain.mine_many(20)
    chain.mine(send(1))
    chain.mine_many(60)
    reader = watched.reader()
    watched.settle(reader)
    before = watched.answers
    chain.reorg(70, [()] * 75)
    with pytest.raises(TooDeep, match="MAX_REORG_BLOCKS"):
        reader.poll()
    assert watched.answers == before


def test_newer_branch_below_all_that_was_read_is_read(watched: Watched) -> None:
    """A chain that was read from its head on is replaced by a shorter one whose blocks are newer."""
    chain = watched.chain
    chain.mine_many(20)
    reader = watched.reader()
    reader.poll()
    first = watched.row.live_from
    assert first is not None
    del chain.blocks[first - 8 :]
    chain.branches, chain.block_seconds = 5, 60
    chain.mine(send(1))
    watched.settle(reader)
    assert chain.head.number < first - 1
    assert watched.row.live_to_hash == chain.head.hash
    assert "1" in watched.answers


@pytest.mark.parametrize(("replaced", "is_read"), [(7, True), (8, False)])
def test_reorg_is_read_up_to_the_limit(watched: Watched, replaced: int, is_read: bool) -> None:
    """Its lowest block may be six below the last one that was read."""
    watched.max_reorg = 6
    chain = watched.chain
    chain.mine_many(10)
    reader = watched.reader()
    watched.settle(reader)
    for number in range(9):
        chain.mine(send(number + 1))
        reader.poll()
    chain.reorg(replaced, [()] * (replaced + 1))
    with nullcontext() if is_read else pytest.raises(TooDeep, match="replaced 7 blocks"):
        watched.settle(reader)
    assert ("9" in watched.answers) == (not is_read)


def test_reorg_without_headers_waits_for_them(watched: Watched) -> None:
    chain, (node,) = watched.chain, watched.nodes
    chain.mine_many(20)
    reader = watched.reader()
    watched.settle(reader)
    chain.reorg(3)
    node.change = lambda method, result: (
        None if method == "eth_getBlockByNumber" and result and result != chain.head.header_json else result
    )
    with pytest.raises(NoNode):
        reader.poll()
    node.change = lambda _method, result: result
    watched.settle(reader)
    assert watched.row.live_to_hash == chain.head.hash


def test_node_that_goes_backwards_lags(watched: Watched) -> None:
    chain, (node,) = watched.chain, watched.nodes
    chain.mine_many(20)
    chain.mine(send(1))
    reader = watched.reader()
    watched.settle(reader)
    before = watched.row.epoch, watched.answers
    node.behind = 5
    for _ in range(5):
        watched.time.go(10)
        with pytest.raises(NoNode, match="behind"):
            reader.poll()
    node.behind = 0
    chain.mine()
    watched.settle(reader)
    assert (watched.row.epoch, watched.answers) == before


def test_shorter_branch_loses_to_longer(watched: Watched) -> None:
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
    assert "1" in watched.answers
