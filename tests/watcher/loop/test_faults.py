"""What nodes do wrong: they are slow, cut off, false, behind, or limit requests. Nothing is missed for it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from flask import Flask

from app.watcher.rpc.faults import RpcFault
from tests.feed.services.world import forget_events
from tests.watcher.fake_node import Behaviour, Reply
from tests.watcher.kit import KEY, NAMES, Watched, send
from tests.watcher.nodes.behaviours import is_logs, page, refused_calls

JSON = {"Content-Type": "application/json"}


def every(rng: random.Random, reply: Reply) -> Callable[[bytes], Reply | None]:
    """Some requests are answered with this."""
    return lambda _body: reply if rng.random() < 0.4 else None


def some(rng: random.Random, method: str, change: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Some answers to a method are changed."""
    return lambda called, result: change(result) if called == method and rng.random() < 0.3 else result


def other_hash(result: Any) -> Any:
    return result and result | {"hash": f"0x{'ab' * 32}"}


def other_parent(result: Any) -> Any:
    return result and result | {"parentHash": f"0x{'cd' * 32}"}


def twice(result: Any) -> Any:
    return [*result, *result]


def of_other_block(result: Any) -> Any:
    return [log | {"blockNumber": "0xffff"} for log in result]


def removed(result: Any) -> Any:
    return [log | {"removed": True} for log in result]


def of_another(result: Any) -> Any:
    return [log | {"blockHash": f"0x{'ef' * 32}"} for log in result]


def short(result: Any) -> Any:
    return [{name: log[name] for name in list(log)[:4]} for log in result]


REPLIES: dict[str, Reply] = {
    "an error of the server": (500, {}, b"<html>oops</html>"),
    "too often": (429, {"Retry-After": "7"}, b""),
    "too often, in words": (
        200,
        JSON,
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limit"}}',
    ),
    "cut off": (200, JSON, b'[{"jsonrpc":"2.0","id":0,"resu'),
    "nothing": (200, JSON, b""),
    "a page": (200, JSON, b"<html>please sign in</html>"),
    "a number": (200, JSON, b"7"),
    "answers to nothing": (200, JSON, b'[{"jsonrpc":"2.0","id":99,"result":null}]'),
    "elsewhere": (302, {"Location": KEY}, b""),
    "no gzip": (200, {**JSON, "Content-Encoding": "gzip"}, b"no gzip at all"),
}
CHANGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "another chain": ("eth_chainId", lambda _result: "0x539"),
    "another block": ("eth_getBlockByNumber", other_hash),
    "another parent": ("eth_getBlockByNumber", other_parent),
    "no block": ("eth_getBlockByNumber", lambda _result: None),
    "no header": ("eth_getBlockByNumber", lambda result: result and {"number": result["number"]}),
    "logs twice": ("eth_getLogs", twice),
    "logs of elsewhere": ("eth_getLogs", of_other_block),
    "logs removed": ("eth_getLogs", removed),
    "logs of another block": ("eth_getLogs", of_another),
    "logs in part": ("eth_getLogs", short),
    "no logs": ("eth_getLogs", lambda _result: []),
    "null for logs": ("eth_getLogs", lambda _result: None),
}


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


def same_as_undisturbed(watched: Watched) -> None:
    assert watched.row.reread_to == watched.chain.head.number - 6
    watched.expect_undisturbed()


@pytest.mark.parametrize("kind", REPLIES)
def test_invalid_answers_change_nothing(watched: Watched, kind: str) -> None:
    rng = random.Random(kind)
    watched.nodes[0].fault = every(rng, REPLIES[kind])
    live(watched, rng)
    same_as_undisturbed(watched)


@pytest.mark.parametrize(("urls", "kind"), [*zip(itertools.cycle((1, 2)), CHANGES, strict=False)])
def test_false_values_change_no_answer(watched: Watched, urls: int, kind: str) -> None:
    live_with_false_values(watched, kind, urls)


@pytest.mark.slow
def test_false_values_change_no_answer_of_any_url(app: Flask) -> None:
    for kind in CHANGES:
        for urls in (1, 2, 3):
            forget_events(app)
            live_with_false_values(Watched(app), kind, urls)


def live_with_false_values(watched: Watched, kind: str, urls: int) -> None:
    rng = random.Random(f"{kind} {urls}")
    watched.add_urls(urls - 1)
    method, change = CHANGES[kind]
    watched.nodes[0].change = some(rng, method, change)
    live(watched, rng)
    same_as_undisturbed(watched)


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
    for second in range(58):
        if second % 2:
            watched.chain.mine(send(second))
        reader.poll()
        watched.time.go(1)
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
