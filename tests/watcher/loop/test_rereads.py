"""What is final is read again: omissions are found, whoever makes them, and what is told is proven."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.watcher.rpc.faults import RpcFault
from tests.feed.services.world import NOW, feed, forget_events, sent
from tests.watcher.fake_chain import START, FakeChain
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import (
    CHAIN,
    ELSEWHERE,
    NAMES,
    OTHER,
    Watched,
    answers,
    liquidity,
    log_of,
    missed,
    relay,
    row,
    send,
)
from tests.watcher.loop.proven import mine, unmatched

pytestmark = pytest.mark.one_database


def fill(chain: FakeChain, rng: random.Random, blocks: int = 60) -> None:
    """Blocks with logs here and there."""
    for number in range(1, blocks + 1):
        logs = [send(number), relay(number + 500), liquidity(number, 5)][: rng.randrange(4)]
        chain.mine(*(logs if rng.random() < 0.5 else ()))


def leaves_out(rng: random.Random, share: float = 0.3) -> Any:
    """Leaves out some logs, the same at each question, and counts them."""
    gone: dict[Any, bool] = {}

    def omit(log: dict[str, Any]) -> bool:
        return gone.setdefault((log["blockHash"], log["logIndex"]), rng.random() < share)

    omit.gone = gone  # type: ignore[attr-defined]
    return omit


def undisturbed(watched: Watched) -> dict[str, Any]:
    """What honest nodes lead to."""
    for node in watched.nodes:
        node.omit = lambda _log: False
    forget_events(watched.app)
    watched.settle(watched.reader())
    return answers(watched.database)


def test_two_urls_prove_each_other(database: Database, watched: Watched) -> None:
    watched.nodes.append(FakeNode(watched.chain))
    fill(watched.chain, random.Random(1))
    watched.settle(watched.reader())
    kept = row(database)
    assert kept.proven_to == kept.reread_to == 54
    assert missed(database) == []
    assert "eth_getBlockReceipts" not in watched.nodes[0].calls


def test_headers_prove_a_single_url(database: Database, watched: Watched) -> None:
    fill(watched.chain, random.Random(2))
    watched.settle(watched.reader())
    assert row(database).proven_to == 54
    assert "eth_getBlockReceipts" in watched.nodes[0].calls


def test_without_receipts_rereads_prove_nothing(database: Database, watched: Watched) -> None:
    watched.nodes[0].receipts = False
    fill(watched.chain, random.Random(3))
    watched.settle(watched.reader())
    assert (row(database).reread_to, row(database).proven_to) == (54, None)


def test_second_url_without_old_logs_confirms_headers(database: Database, watched: Watched) -> None:
    mine(watched, 60)
    watched.nodes.append(FakeNode(watched.chain, oldest=50))
    watched.settle(watched.reader())
    assert row(database).proven_to == 54
    assert unmatched(database) == []


@pytest.mark.parametrize("seed", range(6))
def test_logs_omitted_at_head_are_found(database: Database, watched: Watched, seed: int) -> None:
    rng = random.Random(seed)
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
    found = answers(database)
    assert found == undisturbed(watched)


@pytest.mark.parametrize("seed", range(6))
def test_other_url_finds_omitted_logs(database: Database, watched: Watched, seed: int) -> None:
    rng = random.Random(seed)
    watched.nodes.append(FakeNode(watched.chain, receipts=rng.random() < 0.5))
    watched.nodes[0].omit = omit = leaves_out(rng)
    fill(watched.chain, rng)
    watched.chain.mine_many(10)
    watched.settle(watched.reader())
    found, misses, kept = answers(database), missed(database), row(database)
    planted = sum(omit.gone.values())
    assert sum(miss.missing for miss in misses) == planted > 0
    assert (kept.differed, kept.reread_to) == (len(misses), kept.live_to - 6)
    assert found == undisturbed(watched)


@pytest.mark.parametrize("seed", range(6))
def test_headers_find_omitted_logs(database: Database, watched: Watched, seed: int) -> None:
    rng = random.Random(seed)
    watched.nodes[0].omit = omit = leaves_out(rng)
    fill(watched.chain, rng)
    watched.chain.mine_many(10)
    watched.settle(watched.reader())
    found, kept = answers(database), row(database)
    assert sum(miss.missing for miss in missed(database)) == sum(omit.gone.values()) > 0
    assert kept.proven_to == kept.live_to - 6
    assert found == undisturbed(watched)


def test_omitting_second_url_costs_nothing(database: Database, watched: Watched) -> None:
    rng = random.Random(5)
    watched.nodes.append(FakeNode(watched.chain))
    watched.nodes[1].omit = leaves_out(rng)
    fill(watched.chain, rng)
    watched.settle(watched.reader())
    found = answers(database)
    assert missed(database) == []
    assert found == undisturbed(watched)


def test_queued_payout_reported_paid_is_corrected(app: Flask, database: Database, watched: Watched) -> None:
    queued = log_of("DelayedTransferAdded(bytes32)", 10_007, tx="payout")
    paid = relay(7)
    chain, (node,) = watched.chain, watched.nodes
    topic = f"0x{queued.topics[0].hex()}"
    node.omit = lambda log: log["topics"][0] == topic
    at = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
    feed(app, sent(7, at, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))
    chain.mine_many(3)
    chain.mine(queued, type(paid)(paid.address, paid.topics, paid.data, "payout"))
    reader = watched.reader()
    watched.settle(reader)
    assert answers(database)["paid 7"] == 5
    node.omit = lambda _log: False
    chain.mine_many(12)
    watched.settle(reader)
    assert answers(database)["paid 7"] == 11
    assert [(miss.missing, miss.surplus) for miss in missed(database)] == [(1, 1)]


def test_suspicious_empty_answer_is_requested_elsewhere(database: Database, watched: Watched) -> None:
    """Its filter is full."""
    chain = watched.chain
    watched.nodes.append(FakeNode(chain))
    chain.mine_many(3)
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].omit = lambda _log: True
    chain.mine(send(9))
    watched.settle(reader)
    assert answers(database)["9"] == 1
    assert missed(database) == []
    assert reader.view.source == NAMES[1]


def test_deep_invented_log_is_taken_back(database: Database, watched: Watched) -> None:
    """Deeper than a reorganisation is believed to go, and the chain is read on."""
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(199)
    watched.nodes.append(FakeNode(watched.chain))
    watched.nodes[0].invent = {5: [send(1)], 150: [send(2)]}
    reader = watched.reader()
    for _ in range(3):  # the URL that invents is not used for a while, so nothing is verified meanwhile
        watched.settle(reader)
        watched.time.go(4000)
    assert set(answers(database)) == {"pools"}
    assert [(miss.missing, miss.surplus) for miss in missed(database)] == [(0, 1), (0, 1)]
    assert row(database).stopped is None
    assert row(database).proven_to == 194
