"""Two nodes for all tests of a module, and a gateway on the test's database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from flask import Flask

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.document import import_within, read_document
from demo.anvil import Anvil
from demo.chains import LEFT, RIGHT, prepare
from demo.network import RPC_NAMES
from tests.applications import Applications
from tests.builders.network import text
from tests.databases import SharedDatabase
from tests.programs import anvil
from tests.watcher.on_anvil.plan import BEFORE
from tests.watcher.on_anvil.stage import Chains, network
from tests.watcher.on_anvil.watching import Urls, Watching

START = 1_790_000_000
"""The time of the genesis blocks."""

NOW = datetime.fromtimestamp(START + 5_000, UTC)
"""The gateway's clock, which does not move."""


@pytest.fixture(scope="module")
def running() -> Iterator[Chains]:
    anvil()
    with Anvil(LEFT, start=START) as left, Anvil(RIGHT, start=START) as right:
        nodes = {LEFT: left, RIGHT: right}
        for node in nodes.values():
            prepare(node, BEFORE, START + 12)
        yield Chains(nodes, {chain: node.snapshot() for chain, node in nodes.items()})


@pytest.fixture
def chains(running: Chains) -> Chains:
    """Nothing has happened on them yet."""
    running.begin_again()
    return running


@pytest.fixture
def open_gateway(applications: Applications, shared_database: SharedDatabase) -> Callable[..., Flask]:
    """An application that knows both chains; the settings of how they are watched may be given."""

    def opened(**watching: object) -> Flask:
        app = applications.opener(shared_database, lambda: NOW)()
        moment = part_of(app, Database).clock()
        with writing(part_of(app, Database).engine) as connection:
            import_within(connection, read_document(text(network(**watching))), moment)
        return app

    return opened


@pytest.fixture
def app(open_gateway: Callable[..., Flask]) -> Iterator[Flask]:
    application = open_gateway()
    with application.app_context():
        yield application


@pytest.fixture
def urls(chains: Chains) -> Urls:
    """Each chain has one."""
    return {chain: [(RPC_NAMES[chain], node.url)] for chain, node in chains.nodes.items()}


@pytest.fixture
def watching(app: Flask, urls: Urls) -> Iterator[Watching]:
    """A watcher that was started."""
    watcher = Watching(app, urls)
    watcher.start()
    yield watcher
    watcher.stop()
