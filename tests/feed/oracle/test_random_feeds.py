"""Every answer about any feed is the oracle's, which knows the documents and nothing of the code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import writing
from app.network.document import import_within, read_document
from app.transfers.rules.events.event_types import REPORTED
from tests.actors import TESTER
from tests.applications import Applications, Editing, renew_parts
from tests.builders import network as build
from tests.builders.clock import MovableClock
from tests.databases import SharedDatabase
from tests.feed.oracle.generator import Generator
from tests.feed.oracle.items import REPORTERS, Item, as_text, read_items
from tests.feed.oracle.playing import Differs, Play, smallest
from tests.feed.oracle.reading import FIELDS
from tests.feed.oracle.story import WORLD
from tests.feed.oracle.table import Transfer, pools
from tests.feed.oracle.world import NOW, network
from tests.feed.seeds import seeds

Begin = Callable[[], Play]

_tokens: dict[str, dict[str, str]] = {}
"""By database and reporter: made once in a process, and written back with the network."""


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def app(applications: Applications, shared_database: SharedDatabase, clock: MovableClock) -> Iterator[Flask]:
    application = applications.opener(shared_database, clock)()
    with application.app_context():
        yield application


@pytest.fixture
def begin(
    app: Flask, shared_database: SharedDatabase, clock: MovableClock, database: Database, editing: Editing
) -> Begin:
    """Empties the gateway and gives a play of another feed."""

    def fill() -> None:
        with writing(database.engine) as connection:
            import_within(connection, read_document(build.text(network())), NOW)
        _tokens[shared_database.url] = {}
        for name, chains in REPORTERS.items():
            made = new_token(name.replace(" ", "-"), chains=sorted(chains or ()))
            _tokens[shared_database.url][name] = issue(*editing, made, actor=TESTER).text

    def begin_again() -> Play:
        clock.now = NOW
        shared_database.empty()
        shared_database.fill("tests.feed.oracle", fill)
        renew_parts(app, clock)
        return Play(app, clock, WORLD, _tokens[shared_database.url])

    return begin_again


KNOWN = Path(__file__).parent / "known"
"""Small feeds that a release answered wrongly. What a failure prints can be added to them."""

SCAN = {n: f"https://scan{n}.example/tx/" for n in (1, 2)}
FIRST = "0x048be4ad99b3e0bcbad76da970c5f393474e0d4c59942304fe55f4809fa672fc"
"""The transaction of the first send in the chain, by the first transfer of a feed."""

SECOND = "0x509223e7101bfe7d74ebe4e214e7a3a09d3ed577224100667af26b26850f5de9"
"""That of the same transfer's send in another block."""

EXPECTED: dict[str, dict[str, Any]] = {
    "ahead-under-the-id-of-another": {"status": 3},
    "amount-of-a-retracted-report": {"status": 5, "paid in": -990_000_000_000_000_000},
    "crash-loop": {"status": 1, "block_delay": 10},
    "link": {"status": 1, "src_block_tx_link": SCAN[1] + FIRST},
    "order": {"status": 1, "dst_block_tx_link": ""},
    "send-that-only-a-limited-token-left": {"status": 1, "src_block_tx_link": SCAN[2] + SECOND},
    "signature": {"status": 8},
    "spelling-of-a-nonce": {"status": 1, "block_delay": 20},
    "spelling-of-an-account": {"status": 1, "src_block_tx_link": SCAN[2] + FIRST},
    "symbol-of-a-pool": {"status": 1, "paid in": 7000},
    "takeover": {"status": 5, "block_delay": 0, "src_block_tx_link": ""},
    "two-limits-one-id": {"status": 5},
}
"""What is right about each known feed, by hand: an oracle that is wrong itself would find nothing."""


def _slow_if_long(name: str) -> Any:
    """A crash loop sends its log 258 times; ``test_log_sent_many_times_adds_nothing`` does so ten times."""
    return pytest.param(name, marks=[pytest.mark.slow] if name == "crash-loop" else [])


def difference(begin: Begin, items: Sequence[Item]) -> str:
    """How the gateway differs from the oracle; empty where it does not."""
    try:
        begin().play(items)
    except Differs as found:
        return str(found)
    return ""


def test_every_type_is_in_the_feeds() -> None:
    in_no_answer = {"fee.updated"}
    assert set(FIELDS) == set(REPORTED) - in_no_answer, (
        "write its fields into reading.py, what follows into table.py, and let story.py report it"
    )


def test_every_known_feed_is_played() -> None:
    assert {each.stem for each in KNOWN.glob("*.jsonl")} == EXPECTED.keys()


@pytest.mark.parametrize("name", [_slow_if_long(name) for name in EXPECTED])
def test_known_feed_is_answered_like_the_oracle(begin: Begin, name: str) -> None:
    play = begin()
    play.play(read_items((KNOWN / f"{name}.jsonl").read_text()))
    (transfer_id,) = (each for each in play.log.subjects() if isinstance(each, str))
    transfer = Transfer(play.log, WORLD, transfer_id, NOW)
    answer = transfer.answer() | {"paid in": pools(play.log, WORLD, [transfer], NOW).get((2, "USDT"), [0])[0]}
    assert {field: answer[field] for field in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.every_database
@pytest.mark.parametrize("tried", seeds(10))
def test_random_feeds_are_answered_like_the_oracle(begin: Begin, tried: range) -> None:
    for seed in tried:
        items = Generator(seed).feed()
        if difference(begin, items):
            small = smallest(items, lambda fewer: bool(difference(begin, fewer)))
            pytest.fail(f"seed {seed}: {difference(begin, small)}\n{as_text(small)}")
