"""What is final is read again: omissions are found, whoever makes them, and what is reported is proven.

A range of a backfill is requested of a second provider before it is stored.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from app.watcher.loop.backfill import read_range
from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import ELSEWHERE, NAMES, Watched, liquidity, relay, send
from tests.watcher.loop.proven import mine, payouts_of, unmatched


def fill(chain: FakeChain, rng: random.Random, blocks: int = 60) -> None:
    """Blocks with logs here and there."""
    for number in range(1, blocks + 1):
        logs = [send(number), relay(number + 500), liquidity(number, 5)][: rng.randrange(4)]
        chain.mine(*(logs if rng.random() < 0.5 else ()))


def leaves_out(rng: random.Random, share: float = 0.3) -> Any:
    """Leaves out some logs, the same in each request, and counts them."""
    gone: dict[Any, bool] = {}

    def omit(log: dict[str, Any]) -> bool:
        return gone.setdefault((log["blockHash"], log["logIndex"]), rng.random() < share)

    omit.gone = gone  # type: ignore[attr-defined]
    return omit


def expect_complete(watched: Watched) -> None:
    """Everything is there that honest nodes lead to."""
    for node in watched.nodes:
        node.omit = lambda _log: False
    watched.expect_undisturbed()


@pytest.mark.parametrize(
    ("urls", "receipts", "proven_to"),
    [
        pytest.param(2, True, 54, id="two URLs prove each other"),
        pytest.param(1, True, 54, id="headers prove what one URL returned"),
        pytest.param(1, False, None, id="without receipts nothing is proven"),
    ],
)
def test_final_blocks_are_reread(watched: Watched, urls: int, receipts: bool, proven_to: int | None) -> None:
    watched.add_urls(urls - 1)
    watched.nodes[0].receipts = receipts
    fill(watched.chain, random.Random(urls))
    watched.settle(watched.reader())
    assert (watched.row.reread_to, watched.row.proven_to) == (54, proven_to)
    assert watched.missed == []
    assert ("eth_getBlockReceipts" in watched.nodes[0].calls) == (urls == 1)


def test_second_url_without_old_logs_confirms(watched: Watched) -> None:
    mine(watched, 60)
    watched.nodes.append(FakeNode(watched.chain, oldest=50))
    watched.settle(watched.reader())
    assert watched.row.proven_to == 54
    assert unmatched(watched) == []


def test_logs_omitted_at_head_are_found(watched: Watched) -> None:
    rng = random.Random(0)
    (node,) = watched.nodes
    node.receipts = False
    node.omit = lambda log: int(log["blockNumber"], 16) > node.head - 3 and rng.random() < 0.6
    reader = watched.reader()
    for _ in range(12):
        fill(watched.chain, rng, rng.randrange(1, 6))
        watched.time.go(10)
        with suppress(RpcFault):
            reader.poll()
    watched.chain.mine_many(20)
    watched.settle(reader)
    expect_complete(watched)


@pytest.mark.parametrize("receipts", [True, False], ids=["it has receipts", "it has none"])
def test_other_url_finds_omitted_logs(watched: Watched, receipts: bool) -> None:
    rng = random.Random(receipts)  # each case has its own seed
    watched.nodes.append(FakeNode(watched.chain, receipts=receipts))  # the other, honest URL
    watched.nodes[0].omit = omit = leaves_out(rng)
    fill(watched.chain, rng)
    watched.chain.mine_many(10)  # every block with logs is final now
    watched.settle(watched.reader())
    misses, stored = watched.missed, watched.row
    planted = sum(omit.gone.values())  # the logs that the first URL left out
    assert sum(miss.missing for miss in misses) == planted > 0
    assert (stored.differed, stored.reread_to) == (len(misses), stored.live_to - watched.finality)
    expect_complete(watched)


def test_headers_find_omitted_logs(watched: Watched) -> None:
    rng = random.Random(2)
    watched.nodes[0].omit = omit = leaves_out(rng)
    fill(watched.chain, rng)
    watched.chain.mine_many(10)
    watched.settle(watched.reader())
    stored = watched.row
    assert sum(miss.missing for miss in watched.missed) == sum(omit.gone.values()) > 0
    assert stored.proven_to == stored.live_to - watched.finality
    expect_complete(watched)


def test_suspicious_empty_answer_is_verified(watched: Watched) -> None:
    """Its filter is full."""
    chain = watched.chain
    watched.nodes.append(FakeNode(chain))
    chain.mine_many(3)
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].omit = lambda _log: True
    chain.mine(send(9))
    watched.settle(reader)
    assert watched.answers["9"] == 1
    assert watched.missed == []
    assert reader.view.source == NAMES[1]


def test_deep_invented_log_is_taken_back(watched: Watched) -> None:
    """Deeper than a reorganisation is believed to go, and the chain is read on."""
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(199)
    watched.add_urls(1)
    watched.nodes[0].invent = {5: [send(1)], 150: [send(2)]}
    reader = watched.reader()
    for _ in range(3):  # the URL that invents is not used for a while, so nothing is verified meanwhile
        watched.settle(reader)
        watched.time.go(4000)
    assert set(watched.answers) == {"pools"}
    assert [(miss.missing, miss.surplus) for miss in watched.missed] == [(0, 1), (0, 1)]
    assert watched.row.stopped is None
    assert watched.row.proven_to == 194


def begun(watched: Watched, urls: int) -> Reader:
    """A reader that has read the newest blocks; a payout is in those of its backfill."""
    payouts_of(watched, 7)
    watched.add_urls(urls - 1)
    watched.chain.mine(relay(7))
    watched.chain.mine_many(30)
    reader = watched.reader()
    reader.poll()
    return reader


def test_equal_answers_of_providers_are_agreed(watched: Watched) -> None:
    reader = begun(watched, 2)
    fetched = read_range(reader.view)
    assert fetched is not None and fetched.logs and fetched.agreed
    reader.background()
    assert reader.view.readings.doubts == {}


@pytest.mark.parametrize("urls", [1, 2])
def test_range_read_from_one_provider_is_not_agreed(watched: Watched, urls: int) -> None:
    reader = begun(watched, urls)
    watched.nodes[-1].omit = lambda _log: urls > 1
    fetched = read_range(reader.view)
    assert fetched is not None and not fetched.agreed


def test_log_that_one_provider_lacks_is_in_doubt(watched: Watched) -> None:
    reader = begun(watched, 2)
    watched.nodes[1].omit = lambda _log: True
    reader.background()
    assert len(reader.view.readings.doubts) == 1


def test_range_is_compared_after_outage(watched: Watched) -> None:
    reader = begun(watched, 2)
    watched.nodes[1].fault = lambda _body: (500, {}, b"")
    fetched = read_range(reader.view)
    assert fetched is not None and fetched.logs and not fetched.agreed
