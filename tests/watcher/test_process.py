"""Watchers as processes: they read, end well, are killed, and take over from each other."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.document import import_within, read_document
from tests.amounts import few_or_many
from tests.applications import OpenApp
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.kit import answers, row, send
from tests.watcher.processes import Process, document, free, until, watching

pytestmark = pytest.mark.one_database


@pytest.fixture
def app(open_app: OpenApp) -> Iterator[Flask]:
    app = open_app()
    with app.app_context():
        database = part_of(app, Database)
        with writing(database.engine) as connection:
            import_within(connection, read_document(document()), database.clock())
        yield app


@pytest.fixture
def chain() -> FakeChain:
    chain = FakeChain()
    for number in range(1, 30):
        chain.mine(send(number))
    return chain


def has_begun(process: Process, times: int) -> bool:
    """Whether a watcher has begun after so many others that wrote into the same log."""
    return process.output.count("reading started") > times


def is_read(database: Database, last: int) -> bool:
    """Whether live reading has come to a block, and the backfill to where that began."""
    stored = row(database)
    begun = stored.live_from is not None
    return begun and (stored.live_to, stored.backfilled_to) == (last, stored.live_from - 1)


def read_to(database: Database) -> Any:
    stored = row(database)
    return None if stored is None else (stored.live_to, stored.backfilled_to)


def test_process_reads_ends_hides_url_and_is_replaced(
    database: Database, database_url: str, chain: FakeChain, tmp_path: Path
) -> None:
    node = FakeNode(chain)
    with served(node) as rpc:
        urls = {"RPC_URL_A": rpc}
        with (
            watching(database_url, tmp_path / "one", urls) as one,
            watching(database_url, tmp_path / "two", urls) as two,
        ):
            until(lambda: read_to(database) == (29, 23))
            assert (answers(database)["26"], answers(database)["27"]) == (3, 1)
            node.fault = lambda _body: (500, {}, b"wrong: " + rpc.encode())
            until(lambda: bool(row(database).fault))
            assert "secret-key" not in row(database).fault
            node.fault = lambda _body: None
            reads, standby = (one, two) if "reading started" in one.output else (two, one)
            epoch = row(database).epoch
            reads.kill()
            chain.mine(send(30))
            until(lambda: answers(database).get("30") == 1)
            assert row(database).epoch == epoch + 1
            assert standby.end() == 0
        assert row(database).owner is None
        assert not any(secret in each.output for secret in ("secret-key", rpc) for each in (one, two))


@pytest.mark.parametrize("kills", few_or_many(1, 200))
def test_kills_lose_and_repeat_nothing(
    database: Database, database_url: str, chain: FakeChain, tmp_path: Path, kills: int
) -> None:
    rng = random.Random(1)
    with served(FakeNode(chain)) as rpc:
        urls = {"RPC_URL_A": rpc}
        for number in range(kills):
            with watching(database_url, tmp_path / "log", urls) as process:
                until(partial(has_begun, process, number))
                for _ in range(3):
                    chain.mine(send(len(chain.blocks)))
                    time.sleep(rng.uniform(0, 0.1))
                process.kill()
                free(database)
        chain.mine_many(10)
        with watching(database_url, tmp_path / "log", urls):
            last = chain.head.number
            until(lambda: is_read(database, last))
    found = answers(database)
    assert {key: value for key, value in found.items() if key != "pools"} == {
        str(number): 3 for number in range(1, last - 9)
    }
    assert [pool["sent"] for pool in found["pools"] if pool["sent"]] == [1000 * (last - 10)]
