"""Watchers as processes: they read, end well, are killed, stand by for each other, and do not believe all."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app import create_app
from app.db.database import Database
from app.db.engine import writing
from app.db.models import db
from app.http.application import part_of
from app.network.document import import_within, read_document
from app.watcher.models import ChainWatch
from tests.applications import make_settings
from tests.everyday import SEED, volume
from tests.feed.services.world import NOW, feed, sent
from tests.watcher.fake_chain import START, FakeChain
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.kit import (
    CHAIN,
    OTHER,
    REFUNDED,
    answers,
    leaves_out,
    queued,
    refund,
    relay,
    row,
    send,
    status,
)
from tests.watcher.processes import Process, document, until, watching

pytestmark = pytest.mark.one_database

STATUSES = {7: 11, 8: 1, 9: 1, 10: 5, 11: 3, REFUNDED: 9}
"""The true ones, of the transfers about which the node lies, and of 10."""

KILLS = volume(200, 1)


@pytest.fixture
def url(tmp_path: Path, sqlite_template: Path) -> str:
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'gateway.db')}"


@pytest.fixture
def app(url: str) -> Iterator[Flask]:
    app = create_app(make_settings(url))
    with app.app_context():
        database = part_of(app, Database)
        with writing(database.engine) as connection:
            import_within(connection, read_document(document()), database.clock())
        yield app
        for engine in db.engines.values():
            engine.dispose()


@pytest.fixture
def chain() -> FakeChain:
    chain = FakeChain()
    for number in range(1, 30):
        chain.mine(send(number))
    return chain


def free(database: Database) -> None:
    """Let the lease of a watcher that was killed run out at once."""
    with writing(database.engine) as connection:
        connection.execute(update(ChainWatch).values(until=database.clock() - timedelta(seconds=1)))


def has_begun(process: Process, times: int) -> bool:
    """Whether a watcher has begun after so many others that wrote into the same log."""
    return process.said.count("reading started") > times


def is_read(database: Database, last: int) -> bool:
    """Whether live reading has come to a block, and the backfill to where that began."""
    kept = row(database)
    begun = kept.live_from is not None
    return begun and (kept.live_to, kept.backfilled_to) == (last, kept.live_from - 1)


def read_to(database: Database) -> Any:
    kept = row(database)
    return None if kept is None else (kept.live_to, kept.backfilled_to)


@pytest.mark.slow
def test_process_reads_ends_and_hides_url(
    database: Database, url: str, chain: FakeChain, tmp_path: Path
) -> None:
    node = FakeNode(chain)
    with served(node) as rpc, watching(url, tmp_path / "log", {"RPC_URL_A": rpc}) as process:
        until(lambda: read_to(database) == (29, 23))
        assert answers(database)["26"] == 3
        assert answers(database)["27"] == 1
        node.fault = lambda _body: (500, {}, b"wrong: " + rpc.encode())
        until(lambda: bool(row(database).fault))
        node.fault = lambda _body: None
        chain.mine(send(30))
        until(lambda: answers(database).get("30") == 1)
        assert process.end() == 0
        assert row(database).owner is None
        assert "secret-key" not in process.said + row(database).fault
        assert rpc not in process.said


@pytest.mark.slow
def test_another_takes_over_within_ten_seconds(
    database: Database, url: str, chain: FakeChain, tmp_path: Path
) -> None:
    with served(FakeNode(chain)) as rpc:
        urls = {"RPC_URL_A": rpc}
        with watching(url, tmp_path / "one", urls) as one, watching(url, tmp_path / "two", urls) as two:
            until(lambda: read_to(database) == (29, 23))
            reads = one if "reading started" in one.said else two
            epoch = row(database).epoch
            reads.kill()
            chain.mine(send(30))
            assert until(lambda: answers(database).get("30") == 1) < 10
            assert row(database).epoch == epoch + 1
            other = two if reads is one else one
            assert other.end() == 0


@pytest.mark.slow
def test_kills_lose_and_repeat_nothing(
    database: Database, url: str, chain: FakeChain, tmp_path: Path
) -> None:
    rng = random.Random(SEED)
    with served(FakeNode(chain)) as rpc:
        urls = {"RPC_URL_A": rpc}
        for number in range(KILLS):
            with watching(url, tmp_path / "log", urls) as process:
                until(partial(has_begun, process, number))
                for _ in range(3):
                    chain.mine(send(len(chain.blocks)))
                    time.sleep(rng.uniform(0, 0.1))
                process.kill()
                free(database)
        chain.mine_many(10)
        with watching(url, tmp_path / "log", urls):
            last = chain.head.number
            until(lambda: is_read(database, last))
    found = answers(database)
    assert {key: value for key, value in found.items() if key != "pools"} == {
        str(number): 3 for number in range(1, last - 9)
    }
    assert [pool["sent"] for pool in found["pools"] if pool["sent"]] == [1000 * (last - 10)]


@pytest.fixture
def liar() -> FakeNode:
    """It leaves out two delays and a send, and invents a payout in an empty block and one in a full one."""
    chain = FakeChain()
    chain.mine(send(11), send(REFUNDED))
    chain.mine(queued(7, "payout"), relay(7, tx="payout"), relay(10))
    chain.mine(queued(REFUNDED, "refund"), refund(REFUNDED, tx="refund"))
    chain.mine_many(3)  # deep enough for a refund, and not for a proof
    gone = leaves_out(send(11), queued(7, "payout"), queued(REFUNDED, "refund"))
    return FakeNode(chain, omit=gone, invent={2: [relay(8)], 5: [relay(9)]})


def payouts_to_come(app: Flask) -> None:
    at = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
    for number in (7, 8, 9, 10):
        feed(app, sent(number, at, src_chain_id=OTHER, dst_chain_id=CHAIN, amount="990"))


def statuses(app: Flask) -> dict[int, int]:
    client = app.test_client()
    return {number: status(client, number, {11, REFUNDED}) for number in STATUSES}


@pytest.mark.slow
def test_omissions_and_inventions_are_corrected(
    app: Flask, database: Database, url: str, liar: FakeNode, tmp_path: Path
) -> None:
    payouts_to_come(app)
    with served(liar) as rpc, watching(url, tmp_path / "log", {"RPC_URL_A": rpc}) as process:
        until(lambda: statuses(app) == STATUSES | {7: 5, 8: 5, 9: 5, 11: 0, REFUNDED: 10})
        for _ in range(10):
            liar.chain.mine()
        until(lambda: statuses(app) == STATUSES)
        until(lambda: (row(database).proven_to or 0) >= 10)
        assert row(database).differed == 1
        until(lambda: "3 logs missing" in process.said)
        assert process.end() == 0
        check = Process(url, tmp_path / "check", {"RPC_URL_A": rpc}, "--check")
        until(lambda: not check.runs)
        assert "FAIL returned 4 false logs" in check.said
        assert check.exit_code == 1


@pytest.mark.slow
def test_a_made_up_head_freezes_nothing(
    app: Flask, database: Database, url: str, liar: FakeNode, tmp_path: Path
) -> None:
    honest = liar.chain
    with served(liar) as rpc, watching(url, tmp_path / "log", {"RPC_URL_A": rpc}):
        until(lambda: read_to(database) == (6, None))
        false = FakeChain(CHAIN, 0, list(honest.blocks), branches=9)
        false.mine_many(40)
        liar.chain = false
        until(lambda: row(database).live_to == 46)
        liar.chain = honest
        honest.mine(send(12))
        until(lambda: row(database).live_to == 7, seconds=90)
        assert status(app.test_client(), 12, {12}) == 1
