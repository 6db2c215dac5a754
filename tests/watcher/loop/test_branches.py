"""URLs that name different branches, or blocks that never were: the branch of the most voices is read."""

from __future__ import annotations

from contextlib import suppress

import pytest

from app.values.codes import TransferHistoryStatus as Status
from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from tests.feed.services.world import NOW
from tests.watcher.fake_chain import FakeBlock, FakeChain
from tests.watcher.kit import CHAIN, NAMES, Watched, relay, send
from tests.watcher.loop.proven import ahead, false_answers, payouts_of

UNKNOWN, SUBMITTING, COMPLETED = (
    Status.TRANSFER_UNKNOWN,
    Status.TRANSFER_SUBMITTING,
    Status.TRANSFER_COMPLETED,
)
CONFIRMED = Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION


def poll(watched: Watched, reader: Reader, times: int = 1, seconds: float = 1) -> None:
    for _ in range(times):
        watched.time.go(seconds)
        with suppress(RpcFault):
            while reader.poll():
                pass
        reader.faults.write(reader.lease)


def begin(watched: Watched, urls: int) -> Reader:
    """A chain that was read, with a payout to come."""
    payouts_of(watched, 7)
    watched.chain.mine_many(20)
    watched.add_urls(urls - 1)
    reader = watched.reader()
    watched.settle(reader)
    return reader


def grow(watched: Watched, *branches: FakeChain) -> None:
    for branch in branches or (watched.chain,):
        branch.mine()


def name_false_blocks(watched: Watched, reader: Reader, faulty: int, false: FakeChain) -> None:
    """One of the URLs names other blocks, while the one before it does not answer."""
    watched.nodes[faulty].chain = false
    for node in watched.nodes[:faulty]:
        node.fault = lambda _body: (500, {}, b"")
    poll(watched, reader)
    for node in watched.nodes:
        node.chain, node.fault = watched.chain, lambda _body: None


@pytest.mark.parametrize(
    ("urls", "faulty", "blocks", "at"),
    [(1, 0, 1, 1), (2, 0, 30, 30), (2, 1, 90, 88)],
)
def test_invented_blocks_are_rolled_back(
    watched: Watched, urls: int, faulty: int, blocks: int, at: int
) -> None:
    reader = begin(watched, urls)
    name_false_blocks(watched, reader, faulty, ahead(watched.chain, blocks, relay(7), at))
    assert (watched.status(7), watched.row.live_to) == (COMPLETED, 20 + blocks)
    watched.chain.mine(send(1))
    poll(watched, reader, times=9, seconds=10)
    assert (watched.status(7), watched.status(1)) == (SUBMITTING, SUBMITTING)
    stored = watched.row
    assert (stored.live_to, stored.stopped) == (21, None)
    assert stored.differed == 0
    assert false_answers(watched) == []
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert (watched.status(1), watched.row.live_to) == (CONFIRMED, 33)


def test_restart_after_kill_detects_the_jump(watched: Watched) -> None:
    reader = begin(watched, 1)
    name_false_blocks(watched, reader, 0, ahead(watched.chain, 700, relay(7)))
    assert (watched.status(7), watched.row.live_to) == (COMPLETED, 720)
    watched.chain.mine(send(1))
    reader = watched.reader()
    poll(watched, reader, times=9, seconds=10)
    assert (watched.status(7), watched.status(1), watched.row.live_to) == (SUBMITTING, SUBMITTING, 21)
    assert "jump" not in watched.row.extra


def test_unconnected_headers_are_refused(watched: Watched) -> None:
    reader = begin(watched, 2)
    false = ahead(watched.chain, 700, relay(7))
    false.blocks[25] = FakeBlock(25, "0x" + "77" * 32, false.blocks[24].at, (), "elsewhere")
    name_false_blocks(watched, reader, 0, false)
    watched.chain.mine(send(1))
    poll(watched, reader, times=3, seconds=3)
    assert (watched.status(1), watched.row.live_to) == (SUBMITTING, 21)


def test_lagging_second_url_retracts_nothing(watched: Watched) -> None:
    reader = begin(watched, 2)
    watched.chain.mine_many(300)
    watched.chain.mine(relay(7))
    watched.nodes[1].behind = 250
    poll(watched, reader, times=30, seconds=10)
    assert watched.status(7) == COMPLETED
    watched.nodes[0].fault = lambda _body: (500, {}, b"")
    watched.time.go(1000)
    poll(watched, reader, times=30, seconds=10)
    assert (watched.status(7), watched.row.live_to, watched.row.differed) == (COMPLETED, 321, 0)


@pytest.mark.parametrize(("urls", "seconds"), [(1, 1_000), (2, 1_000_000), (1, 2**62)])
def test_future_block_is_fault_of_url(watched: Watched, urls: int, seconds: int) -> None:
    reader = begin(watched, urls)
    now = int(NOW.timestamp())
    watched.chain.mine(send(1))
    watched.nodes[0].change = lambda method, result: (
        result | {"timestamp": hex(now + seconds)}
        if method == "eth_getBlockByNumber" and result and int(result["number"], 16) == 21
        else result
    )
    poll(watched, reader)
    assert watched.status(1) == (UNKNOWN if urls == 1 else SUBMITTING)
    assert watched.row.fault_source in ("", NAMES[0])
    watched.nodes[0].change = lambda _method, result: result
    watched.time.go(100)
    watched.chain.mine(send(2))
    poll(watched, reader)
    assert (watched.status(1), watched.status(2)) == (SUBMITTING, SUBMITTING)


def test_long_absence_is_no_fault(watched: Watched) -> None:
    """More blocks than are read at once, of one URL and of two."""
    reader = begin(watched, 1)
    watched.chain.mine_many(900)
    watched.chain.mine(send(1))
    before = watched.nodes[0].requests
    poll(watched, reader)
    assert (watched.status(1), watched.row.live_to) == (SUBMITTING, 921)
    assert watched.nodes[0].requests - before < 60
    poll(watched, reader, times=20, seconds=60)
    watched.add_urls(1)
    reader = watched.reader()
    watched.chain.mine_many(900)
    watched.chain.mine(send(2))
    before = watched.nodes[0].requests
    poll(watched, reader)
    assert watched.nodes[0].requests - before < 30
    poll(watched, reader, times=20, seconds=60)
    assert (watched.status(2), watched.row.differed, watched.row.stopped) == (SUBMITTING, 0, None)


@pytest.mark.parametrize("faulty", [0, 1, 2])
def test_branch_of_two_of_three_urls_is_read(watched: Watched, faulty: int) -> None:
    reader = begin(watched, 3)
    false = watched.nodes[faulty].chain = ahead(watched.chain, 3, relay(7))
    watched.chain.mine(send(1))
    for _ in range(3):
        grow(watched)
    poll(watched, reader, 2, seconds=5)
    for _ in range(10):
        grow(watched, watched.chain, false)
        poll(watched, reader, seconds=5)
        assert watched.status(7) == SUBMITTING
    assert watched.row.live_to_hash == watched.chain.head.hash
    assert watched.status(1, {1}) == CONFIRMED
    assert false_answers(watched) == []


def test_branch_of_one_of_two_urls_lasts_for_the_split(watched: Watched) -> None:
    reader = begin(watched, 2)
    false = watched.nodes[0].chain = ahead(watched.chain, 1, relay(7))
    poll(watched, reader, seconds=5)
    assert watched.status(7) == COMPLETED
    for _ in range(12):
        grow(watched, watched.chain, false)
        poll(watched, reader, seconds=5)
    assert watched.status(7) == SUBMITTING
    assert watched.row.live_to_hash == false.head.hash
    assert "the chain is split" in watched.row.fault
    watched.nodes[0].chain = watched.chain
    grow(watched)
    poll(watched, reader, 2, seconds=5)
    assert watched.row.live_to_hash == watched.chain.head.hash
    assert not reader.view.is_split
    assert watched.status(7) == SUBMITTING


def test_true_payout_comes_back_when_the_split_ends(watched: Watched) -> None:
    reader = begin(watched, 2)
    other = FakeChain(CHAIN, 0, list(watched.chain.blocks), branches=5)
    watched.nodes[1].chain = other
    watched.chain.mine(relay(7))
    other.mine()
    poll(watched, reader, seconds=5)
    assert watched.status(7) == COMPLETED
    for _ in range(5):
        grow(watched, watched.chain, other)
        poll(watched, reader, seconds=5)
    assert watched.status(7) == SUBMITTING
    watched.nodes[1].chain = watched.chain
    grow(watched)
    poll(watched, reader, 2, seconds=5)
    assert watched.status(7) == COMPLETED


def test_final_branch_of_two_urls_yields_to_two(watched: Watched) -> None:
    watched.max_reorg = 100
    reader = begin(watched, 2)
    watched.chain.mine(relay(7))
    watched.chain.mine_many(12)
    poll(watched, reader, 3, seconds=5)
    other = FakeChain(CHAIN, 0, list(watched.chain.blocks[:21]), branches=5)
    other.mine_many(20)
    watched.nodes[1].chain = other
    watched.nodes[0].fault = lambda _body: (500, {}, b"")
    poll(watched, reader, 200, seconds=10)
    assert watched.status(7) == COMPLETED
    assert watched.row.live_to_hash == watched.chain.head.hash
    watched.nodes[0].chain, watched.nodes[0].fault = other, lambda _body: None
    poll(watched, reader, 20, seconds=10)
    assert watched.row.live_to_hash == other.head.hash
    assert watched.status(7) == SUBMITTING


def test_url_stuck_on_orphan_loses_its_vote(watched: Watched) -> None:
    """Its vote counts as long as its newest block is not ten minutes older than that of the other URL."""
    reader = begin(watched, 2)
    stuck = FakeChain(CHAIN, 0, list(watched.chain.blocks), branches=5)
    stuck.mine()
    watched.nodes[0].chain = stuck
    poll(watched, reader, seconds=5)
    assert watched.row.live_to_hash == stuck.head.hash
    watched.chain.mine(relay(7))
    for _ in range(90):
        watched.chain.mine_many(5)
        poll(watched, reader, seconds=5)
    assert watched.row.live_to_hash == watched.chain.head.hash
    assert watched.status(7) == COMPLETED
