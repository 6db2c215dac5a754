"""Some blocks' receipts never match their header: the others are proven, and facts in these are reported.

A header proves something only where its fields give its hash.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from app.values.codes import TransferHistoryStatus as Status
from app.watcher.rules.proofs import EMPTY_ROOT
from tests.watcher.fake_node import Behaviour, FakeNode
from tests.watcher.kit import NAMES, Watched, executed, leaves_out, queued, relay, send
from tests.watcher.loop.proven import BLOCKS, again, expect, level, mine, payouts_of, unmatched
from tests.watcher.nodes.behaviours import blocks, every_block, receipts, refused_calls

Receipts = list[dict[str, Any]]


def without_a_log(receipts: Receipts) -> Receipts:
    """The first receipt lacks a log."""
    return [receipts[0] | {"logs": receipts[0]["logs"][1:]}, *receipts[1:]]


def one_more(receipts: Receipts) -> Receipts:
    """As with a transaction that is not in the root."""
    return [*receipts, receipts[0]]


def refused(block: int, words: str = "it is busy") -> Behaviour:
    """Refuse the receipts of a block."""
    return refused_calls(
        words,
        when=lambda call: call["method"] == "eth_getBlockReceipts" and int(call["params"][0], 16) == block,
    )


WRONG = {
    "lacks a log": without_a_log,
    "has one receipt more": one_more,
    "has one receipt less": lambda receipts: receipts[1:],
    "is null": lambda _: None,
    "is empty": lambda _: [],
    "is malformed": lambda receipts: [{"status": "0x1"}],
    "is a list of nothing": lambda receipts: [None],
}


@pytest.mark.parametrize("change", WRONG.values(), ids=list(WRONG))
def test_one_block_is_passed_over(watched: Watched, change: Callable[[Receipts], Any]) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [receipts(lambda number: number == 20, change)]
    reader = watched.reader()
    watched.settle(reader)
    expect(watched, [20])
    reader.faults.write(reader.lease)
    assert watched.row.fault is None


def test_unmatched_chain_is_not_proven(watched: Watched) -> None:
    watched.chain.mine_many(3)
    mine(watched)
    watched.chain.mine_many(10)
    watched.nodes[0].behaviours = [receipts(lambda number: True, one_more)]
    reader = watched.reader()
    watched.settle(reader)
    again(watched, reader)
    assert watched.row.proven_to is None
    assert watched.row.matched_to is None
    assert unmatched(watched) == []
    assert level(watched, 5) == "reported"


def test_unmatched_chain_costs_little(watched: Watched) -> None:
    """In four hours at most a few times as many requests as there are blocks in a proof."""
    mine(watched, 100)
    node = watched.nodes[0]
    node.behaviours = [receipts(lambda number: True, one_more)]
    reader = watched.reader()
    node.calls.clear()
    for _ in range(4 * 30):
        watched.time.go(120)
        reader.poll()
        reader.background()
    assert 10 < node.calls.count("eth_getBlockReceipts") < 1000
    node.behaviours = []
    for _ in range(2 * 30):
        watched.time.go(120)
        reader.poll()
        reader.background()
    assert watched.row.proven_to == 100 - 6
    assert unmatched(watched) == []


def test_block_is_proven_when_receipts_match_later(watched: Watched) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [receipts(lambda number: number in (20, 34), one_more)]
    reader = watched.reader()
    watched.settle(reader)
    expect(watched, [20, 34])
    watched.nodes[0].behaviours = []
    again(watched, reader)
    expect(watched, [])


def test_other_url_with_matching_receipts_proves(watched: Watched) -> None:
    """Its logs show nothing, as it does not return any now."""
    mine(watched)
    watched.nodes[0].behaviours = [receipts(lambda number: number == 20, one_more)]
    watched.settle(watched.reader())
    other = FakeNode(
        watched.chain, behaviours=[refused_calls("no", when=lambda call: call["method"] == "eth_getLogs")]
    )
    watched.nodes.append(other)
    watched.settle(watched.reader())
    expect(watched, [])


def test_other_url_with_the_same_logs_proves(watched: Watched) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [receipts(lambda number: number % 10 == 0, one_more)]
    watched.settle(watched.reader())
    expect(watched, range(10, BLOCKS - 5, 10))
    watched.nodes.append(FakeNode(watched.chain, receipts=False))
    watched.settle(watched.reader())
    expect(watched, [])


def test_other_url_with_other_logs_does_not_prove(watched: Watched) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [receipts(lambda number: number == 20, one_more)]
    watched.settle(watched.reader())
    watched.nodes.append(FakeNode(watched.chain, receipts=False, omit=leaves_out(send(20))))
    watched.settle(watched.reader())
    expect(watched, [20])
    assert watched.status(20, {20}) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION


def test_refused_receipts_are_requested_again_soon(watched: Watched) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [refused(20)]
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].behaviours = []
    for _ in range(40):
        watched.time.go(5)
        reader.poll()
        reader.background()
    assert watched.row.proven_to == BLOCKS - 6


@pytest.mark.parametrize("nth", [2, 7])
def test_receipts_that_are_refused_now_and_then(watched: Watched, nth: int) -> None:
    mine(watched)
    busy = refused_calls("too many requests", when=lambda call: call["method"] == "eth_getBlockReceipts")
    numbers = itertools.count(1)
    watched.nodes[0].behaviours = [
        lambda request, right: (
            busy(request, right)
            if request.has("eth_getBlockReceipts") and next(numbers) % nth == 0
            else right
        )
    ]
    reader = watched.reader()
    watched.settle(reader)
    for _ in range(200):
        if not unmatched(watched):
            break
        watched.time.go(4000)
        reader.poll()
    expect(watched, [])


def test_log_that_its_filter_lacks_stays(watched: Watched) -> None:
    """Some chains leave logs out of their filters: of such a block it is not proven that it has no more."""
    watched.chain.unfiltered = frozenset({10})
    mine(watched, 40)
    watched.settle(watched.reader())
    expect(watched, [10])
    assert watched.status(10, {10}) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION


def test_reorganisation_forgets_them(watched: Watched) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [receipts(lambda number: number in (20, 30), one_more)]
    reader = watched.reader()
    watched.settle(reader)
    expect(watched, [20, 30])
    watched.nodes[0].behaviours = [receipts(lambda number: number == 20, one_more)]
    watched.chain.reorg(15)
    watched.settle(reader)
    mine(watched, 10)
    watched.settle(reader)
    assert unmatched(watched) == [20]
    assert watched.row.proven_to == watched.chain.head.number - 6


def test_facts_in_such_a_block_stay_as_reported(watched: Watched) -> None:
    """A delayed payout, of which a URL later returns neither the queueing nor the payout."""
    payouts_of(watched, 700, 800)
    mine(watched, 10)
    block = watched.chain.mine(queued(700, "payout"), relay(700, tx="payout"), relay(800))
    mine(watched, 20)
    node = watched.nodes[0]
    node.behaviours = [receipts(lambda number: number == block.number, one_more)]
    node.receipts = False
    reader = watched.reader()
    watched.settle(reader)
    assert (watched.status(700), watched.status(800)) == (Status.TRANSFER_DELAYED, Status.TRANSFER_COMPLETED)
    node.omit = leaves_out(queued(700, "payout"), relay(700), relay(800))
    node.receipts = True
    reader = watched.reader()
    watched.settle(reader)
    assert unmatched(watched) == [block.number]
    assert watched.row.proven_to == watched.chain.head.number - 6
    assert (watched.status(700), watched.status(800)) == (Status.TRANSFER_DELAYED, Status.TRANSFER_COMPLETED)
    watched.chain.mine(executed(700))
    watched.settle(reader)
    assert watched.status(700) == Status.TRANSFER_COMPLETED
    assert not watched.missed


def test_false_facts_are_corrected_later(watched: Watched) -> None:
    """Also what left the delay queue meanwhile, far below what a reorganisation reaches."""
    payouts_of(watched, 700)
    mine(watched, 10)
    block = watched.chain.mine(queued(700, "payout"), relay(700, tx="payout"))
    mine(watched, 10)
    watched.chain.mine(executed(700))
    node = watched.nodes[0]
    node.behaviours = [receipts(lambda number: number == block.number, one_more)]
    node.change = _names_another(watched)
    reader = watched.reader()
    watched.settle(reader)
    for _ in range(2):
        mine(watched, 70)
        watched.settle(reader)
    assert unmatched(watched) == [block.number]
    assert watched.status(700) == Status.TRANSFER_SUBMITTING
    node.behaviours, node.change = [], lambda _method, result: result
    again(watched, reader)
    assert unmatched(watched) == []
    assert watched.status(700) == Status.TRANSFER_COMPLETED
    assert [miss.source for miss in watched.missed] == [NAMES[0]]


def _names_another(watched: Watched) -> Callable[[str, Any], Any]:
    true, false = relay(700).data.hex(), (relay(700).data[:-32] + relay(900).data[-32:]).hex()
    return lambda method, result: (
        [log | {"data": log["data"].replace(true, false)} for log in result]
        if method == "eth_getLogs"
        else result
    )


@pytest.mark.parametrize("wrong", [0, 1])
def test_header_that_gives_its_hash_decides(watched: Watched, wrong: int) -> None:
    """One URL changed a field of a header. The second one leaves out all logs."""
    mine(watched)
    watched.nodes.append(FakeNode(watched.chain, omit=lambda _log: True))
    watched.nodes[wrong].behaviours = [blocks("0x14", lambda _block: {"gasUsed": "0x1"})]
    watched.settle(watched.reader())
    expect(watched, [])


def test_headers_that_stop_giving_their_hash_are_noted(watched: Watched) -> None:
    mine(watched)
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].behaviours = [every_block(lambda _block: {"gasUsed": "0x1"})]
    mine(watched, 12)
    again(watched, reader)
    reader.faults.write(reader.lease)
    assert "a hard fork may have added a field" in watched.row.fault


@pytest.mark.parametrize("voice", ["one", "another"])
def test_url_of_the_same_provider_confirms_nothing(watched: Watched, voice: str) -> None:
    mine(watched)
    watched.nodes[0].receipts = False
    watched.nodes.append(FakeNode(watched.chain, receipts=False))
    reader = watched.reader()
    first, second = reader.view.nodes.usable()
    first.voice, second.voice = "one", voice
    watched.settle(reader)
    assert watched.row.proven_to == (None if voice == "one" else watched.chain.head.number - 6)


NOTHING: dict[str, Any] = {
    "receiptsRoot": f"0x{EMPTY_ROOT.hex()}",
    "transactions": [],
    "logsBloom": f"0x{bytes(256).hex()}",
}


@pytest.mark.parametrize("fields", [["receiptsRoot", "transactions"], ["logsBloom"], list(NOTHING)], ids=str)
def test_unverified_header_proves_nothing(watched: Watched, fields: Sequence[str]) -> None:
    """It shows that the block is empty, and its URL leaves out the send. The right header shows that."""
    mine(watched)
    node = watched.nodes[0]
    node.omit = leaves_out(send(20))
    node.behaviours = [blocks("0x14", lambda _block: {name: NOTHING[name] for name in fields})]
    reader = watched.reader()
    watched.settle(reader)
    assert unmatched(watched) == [20]
    node.behaviours = []
    again(watched, reader)
    expect(watched, [])
