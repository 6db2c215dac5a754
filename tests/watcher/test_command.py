"""``flask watch --check`` and ``--status``, and the line that a terminal shows."""

from __future__ import annotations

import io
import re

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy.exc import OperationalError

from app.cli.watch import Progress, done_of, line
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network import services
from app.network.document import import_within, read_document
from app.values.identifiers import BlockNumber
from app.watcher.rules.steps import ChainReadings
from tests.applications import OpenApp
from tests.site.snippets import ROOT
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.kit import CHAIN, FakeTime, send
from tests.watcher.processes import document

pytestmark = pytest.mark.one_database

PRINTING = ("app/watcher", "app/cli")


def run(open_app: OpenApp, urls: dict[str, str], *options: str, **watching: object) -> Result:
    """What it printed with this environment, and chain 1 watched in this way."""
    app: Flask = open_app(rpc_urls=urls)
    with app.app_context():
        database = part_of(app, Database)
        with writing(database.engine) as connection:
            import_within(connection, read_document(document(**watching)), database.clock())
    return app.test_cli_runner().invoke(args=["watch", *options])


@pytest.fixture
def chain() -> FakeChain:
    chain = FakeChain()
    for number in range(1, 30):
        chain.mine(send(number))
    return chain


def test_check_shows_what_a_url_can_do(open_app: OpenApp, chain: FakeChain) -> None:
    node = FakeNode(chain, most_blocks=1000)
    with served(node) as url:
        done = run(open_app, {"RPC_URL_A": url}, "--check")
    assert done.exit_code == 0, done.output
    lines = [text.strip() for text in done.output.splitlines()]
    assert lines[0] == "chain 1 (Ethereum): can be watched"
    assert "ok   all 1 contracts have code" in lines
    assert "ok   has logs back to watch_from_block 1" in lines
    assert "ok   accepts ranges of 29 blocks and more" in lines
    assert "ok   receipts match the headers: one URL is enough to prove blocks" in lines
    assert "ok   accepts batches of 29 calls" in lines
    assert "ok   returns the logs of blocks 0 to 28" in lines
    assert "RPC_URL_A: reads everything and proves it" in lines
    assert url not in done.output
    assert "secret-key" not in done.output


def test_check_without_any_url(open_app: OpenApp) -> None:
    done = run(open_app, {}, "--check", rpc=[])
    assert done.exit_code == 1
    assert "no URL: list variable names in the rpc of the chain, and set the variables" in done.output


@pytest.mark.parametrize(
    ("urls", "words"),
    [({"RPC_URL_A": "http://127.0.0.1:1"}, "FAIL unreachable: no connection: correct"), ({}, "FAIL not set")],
)
def test_check_of_url_without_node(open_app: OpenApp, urls: dict[str, str], words: str) -> None:
    done = run(open_app, urls, "--check", rpc=["RPC_URL_A"])
    assert words in done.output
    assert ("only one URL" in done.output) == bool(urls)


def test_status_before_first_reading(open_app: OpenApp) -> None:
    done = run(open_app, {}, "--status")
    assert done.exit_code == 0
    assert done.output.splitlines()[1].split()[:4] == ["1", "Ethereum", "not", "read"]


def test_unwatched_chain_is_refused(open_app: OpenApp) -> None:
    done = run(open_app, {}, "--chain", "2")
    assert done.exit_code == 1
    assert "chain 2 is not watched: set its watch_from_block" in done.output


def test_watcher_does_not_start_without_database(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that runs waits for the database. One that is only starting reports why it cannot."""

    def fail(*_arguments: object) -> None:
        raise OperationalError("select", {}, Exception("no connection"))

    monkeypatch.setattr(services, "load_snapshot", fail)
    refused = run(open_app, {})
    assert refused.exit_code == 1
    assert "Error: the gateway cannot read its configuration" in refused.output


def test_check_or_status(open_app: OpenApp) -> None:
    assert run(open_app, {}, "--check", "--status").exit_code == 2


def test_line_shows_hours_of_backfill() -> None:
    assert line(0, 10_000_000, 100).endswith(" 0% 100 blocks/s 27 h 46 min left")


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


def test_page_quotes_messages_as_they_are_printed() -> None:
    """What somebody sees at night is in the table of docs/chains.md, word for word; … stands for values."""
    page = (ROOT / "docs/chains.md").read_text("utf-8")
    table = page.partition("| you see | do |\n")[2].partition("\n\n")[0]
    quoted = [text for row in table.splitlines() for text in re.findall(r"\*([^*]+)\*", row.split(" | ")[0])]
    assert len(quoted) > 9  # or the table was not found
    files = [file for place in PRINTING for file in (ROOT / place).rglob("*.py")]
    code = "\n".join(file.read_text("utf-8") for file in files)
    parts = [part.strip(" :,") for text in quoted for part in re.sub(r"\[|\]\([^)]*\)", "", text).split("…")]
    assert [part for part in parts if part not in code] == []
