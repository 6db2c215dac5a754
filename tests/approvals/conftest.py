"""The small network, everything guarded, and accounts that propose and approve."""

from __future__ import annotations

import pytest
from flask import Flask

from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.http.application import add_part, part_of
from app.network.document import import_network
from config import GUARDABLE
from tests.actors import TESTER
from tests.applications import change_part, editing_of
from tests.approvals.kit import NOON, PEOPLE, add_people
from tests.builders.clock import MovableClock
from tests.databases import SharedDatabase
from tests.network.services.network_kit import network, text


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOON)


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase, clock: MovableClock) -> Flask:
    change_part(app, Database, clock=clock)

    def fill() -> None:
        import_network(*editing_of(app), text(network()), actor=TESTER)
        add_people(part_of(app, Database), PEOPLE)

    shared_database.fill("tests.approvals", fill)
    add_part(app, TwoPersons, TwoPersons(frozenset(GUARDABLE)))
    return app
