"""Whatever a node does, its chain is read: meanwhile where that is possible, else when it answers rightly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from app.watcher.loop.reader import Reader
from app.watcher.rpc.nodes import Trouble
from tests.watcher.fake_node import Answer, Behaviour, Call, FakeNode, Request
from tests.watcher.kit import Watched, send
from tests.watcher.nodes.behaviours import (
    after,
    blocks,
    blocks_over,
    body,
    both,
    calls_over,
    drop,
    error,
    every,
    every_block,
    is_logs,
    late,
    later,
    page,
    refuse,
    refused_calls,
    results,
    right,
    silent,
)

BLOCKS, MORE_BLOCKS = 20, 8
MOST_ROUNDS = 150


@dataclass(frozen=True)
class Row:
    """What a node does, and what the watcher makes of it.

    :param does: in words.
    :param behaviour: the same as a function.
    :param reads_on: whether all is read while it goes on; otherwise as soon as it has ended.
    :param waits: whether a URL may be unused for a while.
    :param words: in one of the faults that are shown.
    :param others: further URLs that answer rightly.
    :param behind: blocks that it forgets after some rounds.
    :param more: blocks that are mined meanwhile, one a round.
    """

    does: str
    behaviour: Behaviour
    reads_on: bool = True
    waits: bool = False
    words: str = ""
    others: int = 0
    behind: int = 0
    more: int = MORE_BLOCKS


def one_error(
    message: str,
    code: int = -32000,
    *,
    listed: bool = False,
    when: Callable[[Request], bool] = lambda _: True,
) -> Behaviour:
    """Answer the whole request with one error that names no call, in a list or not."""

    def behave(request: Request, right: Answer) -> Answer:
        whole = {"jsonrpc": "2.0", "id": None, "error": error(message, code)}
        return (Answer([whole] if listed else whole)) if when(request) else right

    return behave


def contracts_over(most: int) -> Callable[[Call], bool]:
    """Whether a call is for the logs of more contracts."""
    return lambda call: call["method"] == "eth_getLogs" and len(call["params"][0]["address"]) > most


def range_of(call: Call) -> int:
    """The blocks of a call of ``eth_getLogs``, 0 for another."""
    if call["method"] != "eth_getLogs":
        return 0
    wanted = call["params"][0]
    return int(wanted["toBlock"], 16) - int(wanted["fromBlock"], 16) + 1


def same_newest() -> Behaviour:
    """Return the same newest block for ever."""
    seen: list[dict[str, Any]] = []

    def change(header: dict[str, Any]) -> dict[str, Any]:
        seen.append(header)
        return seen[0]

    return blocks("latest", change)


def with_pending(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The logs, and one of a transaction that waits to be mined."""
    no_block = dict.fromkeys(("blockNumber", "blockHash", "transactionHash", "transactionIndex", "logIndex"))
    return [*logs, *(log | no_block for log in logs[-1:])]


LONG = calls_over(7)
"""A batch that is too long for the node."""

WIDE = blocks_over(5)
"""A range that is too long for it."""


def is_wide(call: Call) -> bool:
    """Whether this call is for such a range."""
    return range_of(call) > 5


def is_batch(request: Request) -> bool:
    """Whether the request is a list of calls."""
    return request.batch


def has_many_contracts(request: Request) -> bool:
    """Whether one of the calls is for the logs of more than two contracts."""
    return any(map(contracts_over(2), request.calls))


SIZES = [
    Row("answers a long batch by a list of one error", one_error("batch too large", listed=True, when=LONG)),
    Row("answers a long batch by one error", one_error("batch limit exceeded", -32005, when=LONG)),
    Row("answers a long batch by one error in unknown words", one_error("no", -32099, when=LONG)),
    Row("answers each call of a long batch by an error", refuse("too long a batch", when=LONG)),
    Row("answers each call of a long batch in unknown words", refuse("Internal error", -32603, when=LONG)),
    Row("limits the rate of long batches", page(429, when=LONG)),
    Row("answers long batches with HTTP 500", page(500, when=LONG)),
    Row("answers long batches with HTTP 400", page(400, when=LONG)),
    Row("answers long batches with HTTP 413", page(413, when=LONG)),
    Row("answers long batches with an empty body", page(200, "", when=LONG)),
    Row("drops the connection for long batches", drop(LONG)),
    Row("drops the connection for any batch", drop(is_batch)),
    Row("takes no batch, in unknown words", one_error("no", -32099, listed=True, when=is_batch)),
    Row("drops the connection for long ranges", drop(WIDE)),
    Row("drops the connection for ranges of more than one block", drop(blocks_over(1))),
    Row("answers long ranges in unknown words", refused_calls("no", -32099, when=is_wide)),
    Row("answers long ranges with HTTP 503", page(503, when=WIDE)),
    Row("limits long ranges in words", refused_calls("block range is too wide", when=is_wide), more=20),
    Row("takes too long for long ranges", late(WIDE)),
    Row("takes too long for long batches", late(LONG)),
    Row("limits the rate of long batches for a while", page(429, when=LONG, retry_after="3"), waits=True),
    Row("takes one contract in a filter", refused_calls("too many addresses", when=contracts_over(1))),
    Row("drops the connection for three contracts", drop(has_many_contracts)),
    Row("limits both batches and ranges", both(drop(blocks_over(3)), drop(calls_over(2)))),
]


def has_logs(request: Request) -> bool:
    """Whether logs are requested."""
    return request.has("eth_getLogs")


OFF = [
    ("does not offer logs", refused_calls("no such thing", -32601, when=is_logs)),
    ("does not offer logs on this plan", refused_calls("not available on the free tier", 35, when=is_logs)),
    ("names a limit where logs are switched off", refused_calls("limit exceeded", -32005, when=is_logs)),
    ("forbids logs with HTTP 403", page(403, "rpc method is not whitelisted", when=has_logs)),
]
"""Logs are switched off at the first URL."""

MESSAGES = [
    *(Row(f"{does}, and another URL reads on", act, others=1, words="switched off") for does, act in OFF),
    *(Row(does, act, reads_on=False, waits=True, words="eth_getLogs is switched off") for does, act in OFF),
    Row("refuses the key", page(401, "invalid key"), others=1, words="access refused (HTTP 401: inv"),
    Row("refuses the key for all", page(403), reads_on=False, waits=True, words="access refused (HTTP 403)"),
    Row("names a limit for wide ranges", refused_calls("limit exceeded", -32005, when=is_wide)),
    Row("has internal errors for wide ranges", refused_calls("Internal error", -32603, when=is_wide)),
    Row("answers wide ranges with HTTP 500", page(500, '{"error": "no"}', when=WIDE)),
    Row(
        "reports elsewhere that ranges are too wide",
        page(400, '{"message": "range too wide"}', when=WIDE),
        more=20,
    ),
]

NOTHING = [
    Row("returns null for no logs", results("eth_getLogs", lambda logs: logs or None)),
    Row("returns logs of no block behind the others", results("eth_getLogs", with_pending)),
]

Off = partial(Row, reads_on=False, waits=True)
"""Nothing is read meanwhile."""


def unavailable(method: str, every_so_many: int) -> Behaviour:
    """Have no result now and then."""
    return every(every_so_many, results(method, lambda _result: None))


NO_NEWEST = blocks("latest", lambda _block: None)
OTHER_CHAIN = after(20, results("eth_chainId", lambda _id: "0x539"))
LATER = after(20, every_block(lambda block: {"timestamp": later(block["timestamp"])}))
FAR_AHEAD = after(20, blocks("latest", lambda block: {"number": later(block["number"])}))
LACKS_NEWEST = "incomplete: it does not have its newest block"

HOURS = [
    Row("fails with every third answer", every(3, page(500)), waits=True),
    Row("drops every third connection", every(3, drop()), waits=True),
    Row("fails with every third call", every(3, refuse("Internal error", -32603)), waits=True),
    Off("limits the rate with a page for people", page(429), words="HTTP 429"),
    Off("is out of service", page(503), words="unreachable: HTTP 503"),
    Off("has no newest block", NO_NEWEST, words=LACKS_NEWEST),
    Row("has no newest block, but another URL has it", NO_NEWEST, others=1, words=LACKS_NEWEST),
    Off(
        "is of another chain from now on",
        OTHER_CHAIN,
        words="wrong chain: it is a node of chain 1337, not of 1",
    ),
    Off("returns times far ahead", LATER, words="false: the time of block"),
    Off("returns a newest block far ahead", FAR_AHEAD, words="false: its newest block is"),
    Row("does so, but another URL does not", FAR_AHEAD, others=1, words="false: its newest block is"),
    Off("forgets blocks at a restart", right, behind=18, words="behind: it is"),
    Row("forgets blocks at a restart, but another URL has them", right, behind=18, others=1),
]

OLDER = "seconds older than that of RPC_URL_B"
NOT_FOUND = refused_calls("header not found", when=lambda call: call["method"] == "eth_getBlockByNumber")
MIXED = [
    Row("has no header in every third answer", unavailable("eth_getBlockByNumber", 3), waits=True),
    Row("finds no block in every third answer", every(3, NOT_FOUND), waits=True),
    Row("is stuck, and another URL is not", same_newest(), others=1, words=OLDER, more=20),
]
"""Several nodes answer behind one URL, or it returns what it had."""

BODIES = [
    Row("does not answer calls with the id 0", silent(0)),
    Row("answers each POST with HTTP 201", body(bytes, 201)),
    Row("begins each answer with a byte order mark", body(b"\xef\xbb\xbf".__add__)),
    Off("returns a page for people", page(200), words="unreachable: its answer is not JSON"),
    Off(
        "limits the rate in plain words",
        page(200, "Too Many Requests"),
        words="unreachable: Too Many Requests",
    ),
]

ROWS = [*SIZES, *MESSAGES, *NOTHING, *HOURS, *MIXED, *BODIES]


def is_unused(reader: Reader) -> bool:
    """Whether no URL may be used now."""
    return not reader.view.nodes.usable()


def _named(each: Row) -> str:
    return each.does


def is_read(watched: Watched) -> bool:
    """Whether all was read, and the final blocks twice."""
    head, found = watched.chain.head.number, watched.row
    return bool(found.live_to == head and found.reread_to == head - 6)


@pytest.mark.parametrize("each", ROWS, ids=_named)
def test_chain_is_read(watched: Watched, each: Row) -> None:
    watched.changes = {"vaults": frozenset({b"\xbb" * 20, b"\xcc" * 20})}
    watched.nodes += [FakeNode(watched.chain) for _ in range(each.others)]
    for number in range(1, BLOCKS):
        watched.chain.mine(*(send(number * 10 + n) for n in range(number % 3)))
    shown: list[Trouble] = []
    reader = watched.reader()
    reader.faults.note = shown.append  # type: ignore[method-assign, assignment]
    reader.view.nodes._note = shown.append
    watched.nodes[0].behaviours = [each.behaviour]
    for rounds in range(MOST_ROUNDS if each.reads_on else 2 * each.more):
        if rounds < each.more:
            watched.chain.mine(send((BLOCKS + rounds) * 10))
        elif is_read(watched):
            break
        if rounds == each.more // 2:
            watched.nodes[0].behind = each.behind
        watched.turn(reader)
        assert each.waits or not is_unused(reader)
    assert is_read(watched) == each.reads_on
    assert any(each.words in trouble.words for trouble in shown) or not each.words
    watched.nodes[0].behaviours, watched.nodes[0].behind = [], 0
    watched.time.go(4000)
    watched.settle(reader)
    watched.expect_undisturbed()


@pytest.mark.parametrize(
    ("allowed", "seconds", "limited"),
    [(1, 1, page(429)), (2, 1, page(429, retry_after="2")), (5, 10, page(429))],
    ids=["one", "two, with a pause", "five in ten"],
)
def test_few_requests_a_second_are_enough(
    watched: Watched, allowed: int, seconds: int, limited: Behaviour
) -> None:
    answered: list[float] = []

    def limit(request: Request, right: Answer) -> Answer:
        now = watched.time()
        if sum(now - at < seconds for at in answered) >= allowed:
            return limited(request, right)
        answered.append(now)
        return right

    for number in range(1, BLOCKS):
        watched.chain.mine(send(number))
    watched.nodes[0].behaviours = [limit]
    reader = watched.reader()
    for _ in range(MOST_ROUNDS):
        watched.turn(reader)
        if is_read(watched):
            break
    assert is_read(watched)


LATE = 5
"""Blocks."""


@pytest.mark.parametrize(
    ("urls", "most", "words"),
    [(1, LATE, "block range extends beyond current head block"), (2, 0, "indexing is in progress")],
)
def test_chain_is_read_as_far_as_its_logs_are(watched: Watched, urls: int, most: int, words: str) -> None:
    def is_late(call: Call) -> bool:
        newest = watched.chain.head.number - LATE
        return is_logs(call) and int(call["params"][0]["toBlock"], 16) > newest

    watched.add_urls(urls - 1)
    watched.chain.mine_many(30)
    watched.nodes[0].behaviours = [refused_calls(words, when=is_late)]
    reader = watched.reader()
    for number in range(10):
        watched.chain.mine(send(number))
        for _ in range(4):
            watched.turn(reader)
        assert watched.chain.head.number - watched.row.live_to == most
    watched.nodes[0].behaviours = []
    watched.settle(reader)
    watched.expect_undisturbed()
