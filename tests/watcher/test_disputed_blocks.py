"""What operators see of URLs that contradict each other, that left out logs, and that returned false ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from sqlalchemy import insert, update

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import writing
from app.network.models import Chain, NetworkPart
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber
from app.watcher.models import WatchMiss
from app.watcher.rules.evidence import Entry, Word
from app.watcher.rules.steps import Doubt
from app.watcher.rules.watched import disputed_logs
from config import ALL_DOORS
from tests.applications import OpenApp, cheap_passwords
from tests.console.visitor import signed_in
from tests.feed.services.world import NOW, feed, sent
from tests.watcher.fake_chain import FakeBlock
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.kit import CHAIN, ELSEWHERE, NAMES, OTHER, Watched, relay

pytestmark = pytest.mark.one_database

Watch = Callable[..., str]
A, B, C = NAMES


@pytest.fixture
def false(watched: Watched) -> FakeBlock:
    """A block in which the first of two URLs invents a payout."""
    feed(watched.app, sent(7, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))
    watched.changes["independent"] = NAMES
    watched.add_urls(1)
    watched.chain.mine_many(3)
    block = watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(2)
    watched.nodes[0].invent = {block.number: [relay(7)]}
    return block


def read(watched: Watched) -> None:
    """Read the chain until every URL got a request for what only one returned."""
    reader = watched.reader()
    for _ in range(4):
        watched.turn(reader)
        reader.faults.write(reader.lease)


@pytest.fixture
def watch(open_app: OpenApp, database: Database, watched: Watched) -> Watch:
    """Gives what ``flask watch`` prints with these options, after the code with which it exits."""

    def run(*options: str) -> str:
        configure(watched)
        with ExitStack() as stack:
            urls = {
                name: stack.enter_context(served(node))
                for name, node in zip(NAMES, watched.nodes, strict=False)
            }
            app = open_app(rpc_urls=urls, clock=database.clock)
            with app.app_context():
                done = app.test_cli_runner().invoke(args=["watch", *options])
        return f"{done.exit_code}\n{done.output}"

    return run


def configure(watched: Watched) -> None:
    """Have chain 1 watched by as many URLs as there are nodes."""
    names = list(NAMES[: len(watched.nodes)])
    with writing(watched.database.engine) as connection:
        values = {"watch_from_block": 1, "rpc": names, "rpc_independent": names}
        connection.execute(update(Chain).where(Chain.chain_id == CHAIN).values(**values))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))


def text_of(page: str) -> str:
    """What a page shows, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_page_shows_urls_of_disputed_block(
    open_app: OpenApp, database: Database, watched: Watched, false: FakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(watched)
    cheap_passwords(monkeypatch)
    visitor = signed_in(open_app(doors=ALL_DOORS, clock=database.clock), Role.VIEWER)
    before = text_of(visitor.get(f"/admin/chains/{CHAIN}").text)
    assert "In doubt" not in before and "isputed" not in before
    read(watched)
    shown = text_of(visitor.get(f"/admin/chains/{CHAIN}").text)
    assert "Nodes contradict each other about 1 block, and none is confirmed." in shown
    assert "In doubt 1 block not agreed by two URLs and not proven" in shown
    assert re.search(rf"4 2026-[^L]+ Log 1 of 0x\w+…\w+ {A} returned it {B} denies it", shown)
    assert "False answers" not in shown
    assert watched.status(7) == Status.TRANSFER_SUBMITTING


def test_status_shows_urls_of_disputed_block(watched: Watched, watch: Watch, false: FakeBlock) -> None:
    watched.nodes.append(FakeNode(watched.chain, fault=lambda _body: (503, {}, b"")))
    read(watched)
    lines = watch("--status").splitlines()
    assert any(line.startswith("chain 1: 1 blocks are in doubt (1 disputed): ") for line in lines)
    (line,) = (line for line in lines if f"chain 1: block {false.number}, first read at" in line)
    assert line.endswith(f"{A} returned it; {B} denies it; {C} has not answered")


def test_check_passes_two_conflicting_urls(watched: Watched, watch: Watch, false: FakeBlock) -> None:
    read(watched)
    checked = watch("--check")
    assert checked.startswith("0\nchain 1 (Chain 1): can be watched\n")
    assert f"  note block {false.number}, first read at" in checked
    assert f"{A} returned it; {B} denies it. Neither is blamed" in checked
    assert "FAIL" not in checked


def test_check_fails_url_that_two_contradict(watched: Watched, watch: Watch, false: FakeBlock) -> None:
    watched.add_urls(1)
    read(watched)
    checked = watch("--check")
    assert "disputed" not in checked
    failed = re.findall(r"  (\w+): cannot be used: see FAIL\n", checked)
    assert failed == [A], checked
    assert "FAIL the watcher found at" in checked and f"its logs of block {false.number} are false" in checked


@pytest.mark.parametrize(
    ("surplus", "verdict", "words"),
    [
        (
            0,
            "reads everything now, but left out logs lately: see note",
            "note incomplete: left out 2",
        ),
        (1, "cannot be used: see FAIL", "FAIL returned 1 false logs of blocks 2 to 3"),
    ],
)
def test_check_fails_url_with_false_logs(
    database: Database, watched: Watched, watch: Watch, surplus: int, verdict: str, words: str
) -> None:
    watched.add_urls(1)
    watched.chain.mine_many(3)
    read(watched)
    row = {"chain_id": CHAIN, "at": database.clock(), "first": 2, "last": 3, "source": A, "reread_source": B}
    with writing(database.engine) as connection:
        connection.execute(insert(WatchMiss), [row | {"missing": 2, "surplus": surplus}])
    checked = watch("--check")
    assert f"  {A}: {verdict}\n" in checked
    assert words in checked
    assert checked.startswith("0\n")


def test_undenied_log_names_its_contradiction() -> None:
    claimed = Entry("0xaa", b"\xaa" * 20, (b"\x01" * 32,), b"")
    other = Entry("0xbb", b"\xaa" * 20, (b"\x01" * 32,), b"")
    words = {
        A: Word(claims=frozenset({claimed, other})),
        B: Word(claims=frozenset({other}), logs=frozenset()),
    }
    doubt = Doubt(block=BlockNumber(4), words=words, logs={claimed: (3, 0), other: (5, 1)}, since=NOW)
    (log,) = disputed_logs(doubt)
    assert (log.what, log.tx, log.says) == (
        "log 3",
        "0xaa",
        {A: "returned it", B: "neither returned nor denied it"},
    )
    assert log.words.endswith("no URL denies it: the header's filter or another branch does")
