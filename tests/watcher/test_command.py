"""``flask watch --check`` and ``--status``, and the line that a terminal shows."""

from __future__ import annotations

import io

import pytest
from sqlalchemy.exc import OperationalError

from app.cli.watch import Progress, done_of, line
from app.network import services
from app.values.identifiers import BlockNumber
from app.watcher.rules.steps import ChainReadings
from tests.applications import OpenApp
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.kit import CHAIN, FakeTime, send
from tests.watcher.nodes.behaviours import is_logs, refused_calls
from tests.watcher.typed import run

pytestmark = pytest.mark.one_database


@pytest.fixture
def chain() -> FakeChain:
    chain = FakeChain()
    for number in range(1, 30):
        chain.mine(send(number))
    return chain


def test_check_says_what_a_url_can_do(open_app: OpenApp, chain: FakeChain) -> None:
    node = FakeNode(chain, most_blocks=1000)
    with served(node) as url:
        done = run(open_app, {"RPC_URL_A": url}, "--check")
    assert done.exit_code == 0, done.output
    said = [text.strip() for text in done.output.splitlines()]
    assert said[0] == "chain 1 (Ethereum): can be watched"
    assert "ok   all 1 contracts have code" in said
    assert "ok   has logs back to watch_from_block 1" in said
    assert "ok   accepts ranges of 29 blocks and more" in said
    assert "ok   receipts match the headers: one URL is enough to prove blocks" in said
    assert "ok   accepts batches of 29 calls" in said
    assert "ok   returns the logs of blocks 0 to 28" in said
    assert "RPC_URL_A: reads everything and proves it" in said
    assert url not in done.output
    assert "secret-key" not in done.output


SHORT_OF_SOMETHING: list[tuple[dict[str, object], dict[str, object], int, str]] = [
    ({"chain_id": 9}, {}, 1, "FAIL wrong chain: it is a node of chain 9, not of 1"),
    ({"codeless": True}, {}, 1, "has no code on this chain"),
    ({"oldest": 12}, {}, 1, "FAIL has logs back to block 12 only, but watch_from_block is 1"),
    ({}, {"rpc": ["RPC_URL_A", "RPC_URL_B"]}, 0, "FAIL not set in this environment"),
    ({"receipts": False}, {}, 0, "no receipts: blocks can only be proven with a second URL"),
    ({"most_blocks": 7}, {}, 0, "accepts ranges of 7 blocks"),
    (
        {"fault": lambda _body: (401, {}, b'{"error":{"message":"no such key"}}')},
        {},
        1,
        "FAIL unreachable: access refused (HTTP 401: no such key): check the key in the URL",
    ),
    (
        {"behaviours": [refused_calls("no such thing", -32601, when=is_logs)]},
        {},
        1,
        "FAIL logs: incomplete: eth_getLogs is switched off at this URL (no such thing): use another URL",
    ),
    (
        {"behaviours": [refused_calls("limit exceeded", -32005, when=is_logs)]},
        {},
        1,
        "FAIL logs: incomplete: eth_getLogs is switched off at this URL (limit exceeded): use another URL",
    ),
    ({}, {"watch_from_block": 99}, 0, "does not exist yet"),
    ({}, {"finality": "finalized"}, 0, "finalized up to block 21"),
]
"""A node, a chain's configuration, the exit status of the check, and what it says. All are tried everyday."""


def test_check_says_what_is_missing(open_app: OpenApp, chain: FakeChain) -> None:
    for fields, watching, status, words in SHORT_OF_SOMETHING:
        with served(FakeNode(chain, **fields)) as url:  # type: ignore[arg-type]
            done = run(open_app, {"RPC_URL_A": url}, "--check", **watching)
        assert words in done.output
        assert done.exit_code == status, words


def test_check_without_any_url(open_app: OpenApp) -> None:
    done = run(open_app, {}, "--check", rpc=[])
    assert done.exit_code == 1
    assert "no URL: list variable names in the rpc of the chain, and set the variables" in done.output


def test_status_before_anybody_has_read(open_app: OpenApp) -> None:
    done = run(open_app, {}, "--status")
    assert done.exit_code == 0
    assert done.output.splitlines()[1].split()[:4] == ["1", "Ethereum", "not", "read"]


def test_a_chain_that_is_not_watched(open_app: OpenApp) -> None:
    done = run(open_app, {}, "--chain", "2")
    assert done.exit_code == 1
    assert "chain 2 is not watched: it has no watch_from_block" in done.output


def test_a_start_without_configuration_is_refused(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running watcher waits for the database. One that is only starting says why it cannot."""

    def fail(*_arguments: object) -> None:
        raise OperationalError("select", {}, Exception("no connection"))

    monkeypatch.setattr(services, "load_snapshot", fail)
    refused = run(open_app, {})
    assert refused.exit_code == 1
    assert "Error: the gateway cannot read its configuration" in refused.output


def test_check_or_status(open_app: OpenApp) -> None:
    assert run(open_app, {}, "--check", "--status").exit_code == 2


def test_the_line_of_a_backfill() -> None:
    assert line(50, 200, 10) == "[######                  ] 25% 10 blocks/s 0:15 left"
    assert line(0, 10_000_000, 100).endswith(" 0% 100 blocks/s 27 h 46 min left")
    assert line(1, 10, 0).endswith(" 10% 0 blocks/s - left")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Task:
    """What the line looks at of a task."""

    def __init__(self, readings: ChainReadings, from_block: int) -> None:
        self.chain_id = CHAIN
        self.view = self
        self.terms = self
        self.readings = readings
        self.from_block = from_block


def test_progress_line_ends_with_backfill() -> None:
    time, terminal = FakeTime(), Terminal()
    progress = Progress(terminal, time)
    task = Task(ChainReadings(chain_id=CHAIN, live_from=BlockNumber(101), backfilled_to=BlockNumber(20)), 1)
    progress.show({CHAIN: task})  # type: ignore[dict-item]
    time.go(1)
    task.readings = ChainReadings(chain_id=CHAIN, live_from=BlockNumber(101), backfilled_to=BlockNumber(30))
    progress.show({CHAIN: task})  # type: ignore[dict-item]
    assert "chain 1 [#######                 ] 30% 10 blocks/s 0:07 left" in terminal.getvalue()
    time.go(1)
    task.readings = ChainReadings(chain_id=CHAIN, live_from=BlockNumber(101), backfilled_to=BlockNumber(100))
    assert done_of(task) is None  # type: ignore[arg-type]
    progress.show({CHAIN: task})  # type: ignore[dict-item]
    assert terminal.getvalue().endswith("\r\x1b[K")
