"""The small network, everything guarded, and accounts of those who propose and approve."""

from __future__ import annotations

import pytest
from flask import Flask

from app.accounts.rules.proposal import TwoPersons
from app.network.document import import_network
from config import GUARDABLE
from tests.actors import TESTER
from tests.approvals.kit import PEOPLE, Clock, add_people
from tests.databases import SharedDatabase
from tests.gateway import Gateway, current_gateway
from tests.network.services.network_kit import network, text


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase, clock: Clock) -> Gateway:
    gateway = current_gateway().but(clock=clock)

    def fill() -> None:
        import_network(*gateway.editing, text(network()), actor=TESTER)
        add_people(gateway, PEOPLE)

    shared_database.fill("tests.approvals", fill)
    return gateway.but(two_persons=TwoPersons(frozenset(GUARDABLE)))
