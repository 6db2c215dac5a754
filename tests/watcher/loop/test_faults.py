"""What nodes do wrong: they are slow, cut off, lie, lag, want to be left alone. Nothing is missed for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from app.db.database import Database
from app.watcher.rpc.faults import NoNode, RpcFault
from tests.feed.services.world import forget_events
from tests.watcher.fake_node import Behaviour, FakeNode, Reply
from tests.watcher.kit import KEY, NAMES, Watched, answers, missed, row, send
from tests.watcher.nodes.behaviours import is_logs, page, refused_calls

pytestmark = pytest.mark.one_database

JSON = {"Content-Type": "application/json"}


def every(rng: random.Random, reply: Reply) -> Callable[[bytes], Reply | None]:
    """Some requests are answered with this."""
    return lambda _body: reply if rng.random() < 0.4 else None


def some(rng: random.Random, method: str, change: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Some answers to a method are changed."""
    return lambda asked, result: change(result) if asked == method and rng.random() < 0.3 else result


def other_hash(result: Any) -> Any:
    return result and result | {"hash": f"0x{'ab' * 32}"}


def other_parent(result: Any) -> Any:
    return result and result | {"parentHash": f"0x{'cd' * 32}"}


def twice(result: Any) -> Any:
    return [*result, *result]


def beside(result: Any) -> Any:
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
    "logs of elsewhere": ("eth_getLogs", beside),
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
    found = answers(watched.database)
    assert row(watched.database).reread_to == watched.chain.head.number - 6
    forget_events(watched.app)
    watched.settle(watched.reader())
    assert answers(watched.database) == found


@pytest.mark.parametrize("kind", REPLIES)
def test_what_is_no_answer(watched: Watched, kind: str) -> None:
    rng = random.Random(kind)
    watched.nodes[0].fault = every(rng, REPLIES[kind])
    live(watched, rng)
    same_as_undisturbed(watched)


@pytest.mark.parametrize("urls", [1, 2])
@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_not_true(watched: Watched, kind: str, urls: int) -> None:
    rng = random.Random(f"{kind} {urls}")
    watched.nodes += [FakeNode(watched.chain) for _ in range(urls - 1)]
    method, change = CHANGES[kind]
    watched.nodes[0].change = some(rng, method, change)
    live(watched, rng)
    same_as_undisturbed(watched)


def test_node_of_other_chain_is_refused(database: Database, watched: Watched) -> None:
    watched.chain.mine(send(1))
    watched.nodes[0].chain_id = 1337
    reader = watched.reader()
    with pytest.raises(
        NoNode, match=r"all URLs are excluded.*RPC_URL_A: wrong chain: it is a node of chain 1337, not of 1"
    ):
        reader.poll()
    assert row(database).live_to is None
    with pytest.raises(NoNode):
        reader.poll()
    assert watched.nodes[0].requests == 1
    watched.nodes[0].chain_id = 1
    watched.time.go(61)
    watched.settle(reader)
    assert answers(database)["1"] == 1


def test_next_url_serves_until_preferred_returns(database: Database, watched: Watched) -> None:
    watched.nodes.append(FakeNode(watched.chain))
    watched.nodes[0].fault = lambda _body: (429, {"Retry-After": "30"}, b"")
    watched.chain.mine(send(1))
    reader = watched.reader()
    reader.poll()
    assert (answers(database)["1"], reader.view.source) == (1, NAMES[1])
    watched.nodes[0].fault = lambda _body: None
    asked = watched.nodes[0].requests
    watched.time.go(29)
    watched.chain.mine()
    reader.poll()
    assert watched.nodes[0].requests == asked
    watched.time.go(2)
    watched.chain.mine()
    reader.poll()
    assert reader.view.source == NAMES[0]


@pytest.mark.parametrize(
    "does",
    [refused_calls("limit exceeded", -32005, when=is_logs), page(401)],
    ids=["no logs", "no access"],
)
def test_url_that_only_a_person_can_mend_is_seldom_tried(
    database: Database, watched: Watched, does: Behaviour
) -> None:
    watched.nodes.append(FakeNode(watched.chain))
    watched.nodes[0].behaviours = [does]
    reader = watched.reader()
    for number in range(1, 59):
        watched.chain.mine(send(number))
        reader.poll()
        watched.time.go(1)
    assert row(database).live_to == 58
    assert watched.nodes[0].requests <= 10
    watched.nodes[0].behaviours = []
    watched.time.go(10)
    watched.chain.mine(send(59))
    reader.poll()
    assert reader.view.source == NAMES[0]


def test_long_range_is_halved_until_answered(database: Database, watched: Watched) -> None:
    node = watched.nodes[0]
    node.most_blocks, node.most_logs = 20, 12
    for number in range(200):
        watched.chain.mine(*(send(number * 10 + n) for n in range(number % 4)))
    watched.settle(watched.reader(), rounds=200)
    assert len(answers(database)) == 301
    assert row(database).reread_to == 194


@pytest.mark.parametrize("most_calls", [0, 3, 10])
def test_nodes_that_take_few_calls_at_once(database: Database, watched: Watched, most_calls: int) -> None:
    watched.nodes[0].most_calls = most_calls
    for number in range(1, 40):
        watched.chain.mine(send(number))
    watched.settle(watched.reader())
    assert len(answers(database)) == 40


def test_a_poll_is_three_requests_at_most(database: Database, watched: Watched) -> None:
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
    assert orjson.dumps(missed(database)) == b"[]"


def test_idle_chain_costs_few_requests(database: Database, watched: Watched) -> None:
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
    assert row(database).live_to == 50


def test_a_body_without_end_is_not_read(watched: Watched) -> None:
    watched.nodes[0].fault = lambda _body: (200, JSON, b" " * (17 << 20))
    with pytest.raises(RpcFault, match="larger than"):
        watched.reader().poll()
