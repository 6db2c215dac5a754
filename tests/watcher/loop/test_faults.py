"""What nodes do wrong: they are slow, cut off, false, behind, or limit requests. Nothing is missed for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from flask import Flask

from app.watcher.rpc.faults import RpcFault
from tests.amounts import few_or_many
from tests.feed.services.world import forget_events
from tests.watcher.fake_node import Behaviour
from tests.watcher.kit import NAMES, Watched, send
from tests.watcher.nodes.behaviours import is_logs, page, refused_calls

CHANGES: list[tuple[str, Callable[[Any], Any]]] = [
    ("eth_chainId", lambda _result: "0x539"),
    ("eth_getBlockByNumber", lambda result: result and result | {"hash": f"0x{'ab' * 32}"}),
    ("eth_getBlockByNumber", lambda result: result and result | {"parentHash": f"0x{'cd' * 32}"}),
    ("eth_getBlockByNumber", lambda _result: None),
    ("eth_getBlockByNumber", lambda result: result and {"number": result["number"]}),
    ("eth_getLogs", lambda logs: [*logs, *logs]),
    ("eth_getLogs", lambda logs: [log | {"blockNumber": "0xffff"} for log in logs]),
    ("eth_getLogs", lambda logs: [log | {"removed": True} for log in logs]),
    ("eth_getLogs", lambda logs: [log | {"blockHash": f"0x{'ef' * 32}"} for log in logs]),
    ("eth_getLogs", lambda logs: [{name: log[name] for name in list(log)[:4]} for log in logs]),
    ("eth_getLogs", lambda _logs: []),
    ("eth_getLogs", lambda _logs: None),
]
"""Changes of the results of a method."""


def live(watched: Watched, rng: random.Random) -> None:
    """A life of some hours, over all faults, and an honest end."""
    chain, reader = watched.chain, watched.reader()
    for sent in range(1, 16):
        chain.mine(*(send(sent * 10 + n) for n in range(rng.randrange(3))))
        if rng.random() < 0.1 and chain.head.number > 4:
            chain.reorg(rng.randrange(1, 4))
        watched.time.go(rng.choice([1, 5, 100]))
        for work in (reader.poll, reader.background, reader.reread):
            try:
                work()
            except RpcFault as fault:
                assert "key-that-nobody" not in str(fault)
    for node in watched.nodes:
        node.fault, node.change = (lambda _body: None), (lambda _method, result: result)
    watched.time.go(10_000)
    chain.mine_many(20)
    watched.settle(reader)


@pytest.mark.parametrize("lives", few_or_many(6, 60))
def test_false_values_change_no_answer(app: Flask, lives: int) -> None:
    """Some answers of one URL to one method are changed, in a way that chance chooses."""
    for life in range(lives):
        forget_events(app)
        rng, watched = random.Random(life), Watched(app)
        watched.add_urls(life // 3 % 2)
        changed = ("eth_getBlockByNumber", "eth_getLogs", "eth_chainId")[life % 3]

        def change(method: str, result: Any, rng: random.Random = rng, changed: str = changed) -> Any:
            changes = [each for of, each in CHANGES if of == changed]
            return rng.choice(changes)(result) if method == changed and rng.random() < 0.3 else result

        watched.nodes[0].change = change
        live(watched, rng)
        assert watched.row.reread_to == watched.chain.head.number - 6
        watched.expect_undisturbed()


def test_next_url_serves_until_preferred_returns(watched: Watched) -> None:
    watched.add_urls(1)
    watched.nodes[0].fault = lambda _body: (429, {"Retry-After": "30"}, b"")
    watched.chain.mine(send(1))
    reader = watched.reader()
    reader.poll()
    assert (watched.answers["1"], reader.view.source) == (1, NAMES[1])
    watched.nodes[0].fault = lambda _body: None
    requests = watched.nodes[0].requests
    watched.time.go(29)
    watched.chain.mine()
    reader.poll()
    assert watched.nodes[0].requests == requests
    watched.time.go(2)
    watched.chain.mine()
    reader.poll()
    assert reader.view.source == NAMES[0]


@pytest.mark.parametrize(
    "does", [refused_calls("limit exceeded", -32005, when=is_logs), page(401)], ids=["no logs", "no access"]
)
def test_url_without_access_is_seldom_requested(watched: Watched, does: Behaviour) -> None:
    watched.add_urls(1)
    watched.nodes[0].behaviours = [does]
    reader = watched.reader()
    for second in range(1, 59, 2):
        watched.chain.mine(*([send(second)] if second % 6 == 1 else []))
        reader.poll()
        watched.time.go(2)
    assert watched.row.live_to == 29
    assert watched.nodes[0].requests <= 10
    watched.nodes[0].behaviours = []
    watched.time.go(10)
    watched.chain.mine(send(59))
    reader.poll()
    assert reader.view.source == NAMES[0]


def test_poll_takes_three_requests_at_most(watched: Watched) -> None:
    (node,) = watched.nodes
    watched.chain.mine_many(30)
    reader = watched.reader()
    watched.settle(reader)
    for blocks, most in ((0, 1), (1, 2), (40, 2)):
        watched.chain.mine_many(blocks)
        before = node.requests
        reader.since_reread = 0
        reader.poll()
        assert node.requests - before <= most
        reader.poll()  # up to the final block first
    for number in range(20):
        watched.chain.mine(send(number + 1))
    before = node.requests
    reader.since_reread = 0
    reader.poll()
    assert node.requests - before <= 3
    assert orjson.dumps(watched.missed) == b"[]"


def test_idle_chain_costs_few_requests(watched: Watched) -> None:
    (node,) = watched.nodes
    node.receipts = False
    watched.chain.mine_many(30)
    reader = watched.reader()
    watched.settle(reader)
    before = node.requests
    for _ in range(20):
        reader.poll()
        assert reader.background() is None
    assert node.requests - before == 20
    for _ in range(20):
        watched.chain.mine()
        reader.poll()
        assert reader.background() is None
    # Of new blocks two requests, every fourth poll one more for the reread, every twelfth two for a proof.
    assert node.requests - before <= 20 + 2 * 20 + 20 // 4 + 2 * (20 // 12)
    assert watched.row.live_to == 50
