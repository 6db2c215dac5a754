"""Every answer about any feed is the oracle's, which knows the documents and nothing of the code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
from tests.feed.oracle.items import REPORTERS, Item, Reported, as_text
from tests.feed.oracle.playing import Differs, Play, smallest
from tests.feed.oracle.reading import FIELDS
from tests.feed.oracle.story import WORLD
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


def difference(begin: Begin, items: Sequence[Item]) -> str:
    """How the gateway differs from the oracle; empty where it does not."""
    try:
        begin().play(items)
    except Differs as found:
        return str(found)
    return ""


def test_every_type_is_in_the_feeds() -> None:
    in_no_answer = {"fee.updated"}
    items = [item for seed in range(10) for item in Generator(seed).feed()]
    reported = {item.line["type"] for item in items if isinstance(item, Reported)}
    assert set(FIELDS) == reported == set(REPORTED) - in_no_answer, (
        "write its fields into reading.py, what follows into table.py, and let story.py report it"
    )


@pytest.mark.every_database
@pytest.mark.parametrize("tried", seeds(20))
def test_random_feeds_are_answered_like_the_oracle(begin: Begin, tried: range) -> None:
    for seed in tried:
        items = Generator(seed).feed()
        if difference(begin, items):
            small = smallest(items, lambda fewer: bool(difference(begin, fewer)))
            pytest.fail(f"seed {seed}: {difference(begin, small)}\n{as_text(small)}")
