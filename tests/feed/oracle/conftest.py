"""A gateway with the network of the random feeds and a token for each of their reporters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import writing
from app.network.document import import_within, read_document
from tests.actors import TESTER
from tests.applications import Applications, Editing, renew_parts
from tests.builders import network as build
from tests.databases import SharedDatabase
from tests.feed.oracle.items import REPORTERS
from tests.feed.oracle.playing import Clock, Play
from tests.feed.oracle.story import WORLD
from tests.feed.oracle.world import NOW, network

Begin = Callable[[], Play]

_tokens: dict[str, dict[str, str]] = {}
"""By database and reporter: made once in a process, and written back with the network."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(applications: Applications, shared_database: SharedDatabase, clock: Clock) -> Iterator[Flask]:
    application = applications.opener(shared_database, clock)()
    with application.app_context():
        yield application


@pytest.fixture
def begin(
    app: Flask, shared_database: SharedDatabase, clock: Clock, database: Database, editing: Editing
) -> Begin:
    """Empties the gateway and gives a play of another feed."""

    def fill() -> None:
        with writing(database.engine) as connection:
            import_within(connection, read_document(build.text(network())), NOW)
        _tokens[shared_database.url] = {}
        for name, chains in REPORTERS.items():
            made = new_token(name.replace(" ", "-"), chains=sorted(chains or ()))
            _tokens[shared_database.url][name] = issue(*editing, made, actor=TESTER).text

    def anew() -> Play:
        clock.now = NOW
        shared_database.empty()
        shared_database.fill("tests.feed.oracle", fill)
        renew_parts(app, clock)
        return Play(app, clock, WORLD, _tokens[shared_database.url])

    return anew
