"""``watch --check`` tries what the watcher will do: a URL passes if it can do all of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from app.cli.watch import check_lines
from app.watcher.check import check_chain
from app.watcher.rpc.client import Client
from tests.remedies import says_what_to_do
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import Behaviour, Call, FakeNode, served
from tests.watcher.kit import NAMES, TOKEN, FakeTime, send, terms
from tests.watcher.nodes.behaviours import (
    blocks_over,
    both,
    calls_over,
    drop,
    every_block,
    is_logs,
    page,
    refused_calls,
    results,
    right,
)

READS = "RPC_URL_A: reads everything and proves it"
PROVES_NOTHING = "RPC_URL_A: reads everything, and proves nothing by itself: add a URL of another provider"
FAILS = "RPC_URL_A: cannot be used: see FAIL"


@dataclass(frozen=True)
class Row:
    """What a node does, the line about its URL, and another line.

    :param fields: of the node.
    :param watching: how its chain is configured to be watched.
    """

    does: str
    behaviour: Behaviour
    verdict: str
    words: str
    fields: dict[str, Any] = field(default_factory=dict)
    watching: dict[str, Any] = field(default_factory=dict)


def of_odd_blocks(receipts: list[Any]) -> list[Any]:
    """The receipts of every second block lack a log, so that they do not match its header."""
    number = int(receipts[0]["logs"][0]["blockNumber"], 16)
    return [receipt | {"logs": []} for receipt in receipts] if number % 2 else receipts


POOL = "0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa"
ONE_WRAPPED, WRAPPING = {"wraps": TOKEN}, {"native_wrap": TOKEN}
LOGS_OFF = "FAIL logs: incomplete: eth_getLogs is switched off at this URL"
FALSE_LOGS = "FAIL logs: false: "
NO_RECEIPTS = results("eth_getBlockReceipts", lambda _receipts: None)
NO_LOGS = results("eth_getLogs", lambda _logs: [])
HASHLESS = results("eth_getLogs", lambda logs: [log | {"blockHash": f"0x{'00' * 32}"} for log in logs])
ELSEWHERE = results("eth_getLogs", lambda logs: [log | {"blockNumber": "0x50"} for log in logs])
DOUBLED = results("eth_getBlockReceipts", lambda receipts: [*receipts, *receipts])


def is_block_20(call: Call) -> bool:
    """Whether a call is for the header of this block."""
    return call["method"] == "eth_getBlockByNumber" and call["params"][0] == "0x14"


ROWS = [
    Row("is right", right, READS, "ok   accepts batches of 29 calls"),
    Row("is of another chain", right, FAILS, "FAIL wrong chain: it is a node of chain 9", {"chain_id": 9}),
    Row("has no contracts", right, FAILS, "has no code on this chain", {"codeless": True}),
    Row("has no old logs", right, FAILS, "FAIL has logs back to block 12 only", {"oldest": 12}),
    Row(
        "has one of two URLs",
        right,
        READS,
        "FAIL not set in this environment: set it",
        {},
        {"rpc": NAMES[:2]},
    ),
    Row("names its longest range", right, READS, "ok   accepts ranges of 7 blocks", {"most_blocks": 7}),
    Row("has not begun", right, READS, "does not exist yet", {}, {"from_block": 99}),
    Row("has finalized blocks", right, READS, "up to block 21", {}, {"finality": "finalized"}),
    Row("wraps as configured", right, READS, "ok   native_wrap is what 1 of 1 contr", ONE_WRAPPED, WRAPPING),
    Row(
        "wraps another",
        right,
        FAILS,
        f"FAIL {POOL} wraps native coin as 0x1",
        {"wraps": b"\x11" * 20},
        WRAPPING,
    ),
    Row("takes no native coin", right, READS, f"ok   {POOL} takes no native", {"wraps": bytes(20)}, WRAPPING),
    Row("has no nativeWrap()", right, FAILS, f"FAIL nativeWrap() of {POOL}: ", {}, WRAPPING),
    Row("has no method for receipts", right, PROVES_NOTHING, "no receipts: blocks can", {"receipts": False}),
    Row("refuses its key", page(401, "no such key"), FAILS, "access refused (HTTP 401: no such key)"),
    Row("has no method for logs", refused_calls("no such thing", -32601, when=is_logs), FAILS, LOGS_OFF),
    Row("names a limit for it", refused_calls("limit exceeded", -32005, when=is_logs), FAILS, LOGS_OFF),
    Row("takes few calls at once", drop(calls_over(7)), READS, "ok   accepts batches of 7 calls"),
    Row("takes no batch", drop(calls_over(1)), READS, "ok   no batches: more requests per poll"),
    Row("takes short ranges", drop(blocks_over(7)), READS, "ok   accepts ranges of 7 blocks"),
    Row(
        "has some receipts that match",
        results("eth_getBlockReceipts", of_odd_blocks),
        READS,
        "2 of 3 blocks match",
    ),
    Row("has no receipts", NO_RECEIPTS, PROVES_NOTHING, "(it has no receipts of block 28)"),
    Row("has receipts that never match", DOUBLED, PROVES_NOTHING, "ok   receipts do not match the headers: "),
    Row(
        "has headers that do not give their hashes",
        every_block(lambda _block: {"gasUsed": "0x1"}),
        PROVES_NOTHING,
        "ok   headers do not give their hashes: blocks can only be proven with a second URL",
    ),
    Row("returns no logs", NO_LOGS, FAILS, "FAIL returns 0 of the 1 logs of a contract in block 28"),
    Row(
        "returns neither logs nor receipts",
        both(NO_RECEIPTS, NO_LOGS),
        FAILS,
        "FAIL returns no logs of block 28",
    ),
    Row("returns logs without a hash", HASHLESS, FAILS, f"{FALSE_LOGS}the logs of block 1 do not belong"),
    Row(
        "returns logs of other blocks", ELSEWHERE, FAILS, f"{FALSE_LOGS}a log of block 80 for blocks 0 to 28"
    ),
    Row("is out of service", page(503), FAILS, "FAIL unreachable: HTTP 503: try again later, or use"),
    Row(
        "refuses every range", refused_calls("no", -32099, when=is_logs), FAILS, "FAIL logs: unreachable: no"
    ),
    Row(
        "has no headers of single blocks",
        refused_calls("block not found", when=is_block_20),
        FAILS,
        "FAIL headers of 29 blocks: it does not have block 20",
    ),
]


@pytest.mark.parametrize("each", ROWS, ids=lambda each: each.does)
def test_check_shows_what_a_node_can_do(each: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime()
    monkeypatch.setattr("app.watcher.rpc.nodes.Client", partial(Client, sleep=clock.go))
    chain = FakeChain()
    for number in range(1, 30):
        chain.mine(send(number))
    node = FakeNode(chain, behaviours=[each.behaviour], **each.fields)
    now = datetime.fromtimestamp(chain.head.at, UTC)
    with served(node) as url:
        checked = check_chain(terms(**each.watching), {NAMES[0]: url}, now, clock)
    lines = [line.strip() for line in check_lines(checked)]
    assert each.verdict in lines
    assert [line for line in lines if each.words in line], lines
    assert checked.good == (each.verdict != FAILS)
    assert all(says_what_to_do(line) for line in lines if line.startswith("FAIL")), lines
