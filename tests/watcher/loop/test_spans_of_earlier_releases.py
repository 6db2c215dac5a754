"""What a release before the rule of evidence called proven is read again: slowly, beside the daily work."""

from __future__ import annotations

from contextlib import suppress

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.watcher.models import WatchSpan
from app.watcher.rpc.faults import RpcFault
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import ELSEWHERE, Watched, leaves_out, relay, row, send, status
from tests.watcher.loop.proven import level, mine, payouts_of


def as_before(database: Database) -> None:
    """The database as an earlier release left it."""
    with writing(database.engine) as connection:
        connection.execute(update(WatchSpan).values(weighed=False))


def left(database: Database) -> list[tuple[int, int]]:
    """The ranges that are still to be read again."""
    with reading(database.engine) as connection:
        found = select(WatchSpan.first, WatchSpan.last).where(
            WatchSpan.state == "proven", WatchSpan.weighed.is_(False)
        )
        return [(first, last) for first, last in connection.execute(found)]


def test_they_are_read_again_a_range_every_two_seconds(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    mine(watched, 500)
    watched.nodes.append(FakeNode(watched.chain))
    watched.settle(watched.reader())
    as_before(database)
    reader = watched.reader()
    before = sum(node.requests for node in watched.nodes)
    for _ in range(10):
        watched.time.go(1)
        reader.poll()
        while (wait := reader.background()) is not None and wait < 0.5:
            watched.time.go(wait)
    assert left(database) == [(1, 494 - 5 * 98)]
    assert sum(node.requests for node in watched.nodes) - before < 60
    assert row(database).proven_to == 494
    assert level(client, 490) == "proven"
    watched.settle(reader, rounds=60)
    assert left(database) == []


def test_false_payout_is_found_and_what_the_index_lost_stays(
    app: Flask, database: Database, watched: Watched, client: FlaskClient
) -> None:
    """Both URLs returned the false payout, as one of them followed the other."""
    payouts_of(app, 7)
    watched.chain.mine(send(1), ELSEWHERE)
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(20)
    watched.nodes.append(FakeNode(watched.chain))
    for node in watched.nodes:
        node.invent, node.receipts = {2: [relay(7)]}, False
    reader = watched.reader()
    watched.settle(reader)
    assert status(client, 7) == 5
    as_before(database)
    for node in watched.nodes:
        node.invent, node.receipts, node.omit = {}, True, leaves_out(send(1))
    watched.settle(watched.reader())
    assert status(client, 7) == 1
    assert status(client, 1) == 3


def test_blocks_that_no_url_has_any_more_stop_nothing(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    mine(watched, 500)
    watched.nodes.append(FakeNode(watched.chain))
    watched.settle(watched.reader())
    as_before(database)
    for node in watched.nodes:
        node.oldest = 300
    reader = watched.reader()
    for _ in range(60):
        watched.chain.mine()
        watched.time.go(3)
        with suppress(RpcFault):
            reader.poll()
        with suppress(RpcFault):
            while (wait := reader.background()) is not None and wait < 0.6:
                watched.time.go(wait)
        assert watched.chain.head.number - row(database).live_to <= 3
    assert left(database) == [(1, 396)]
    assert level(client, 490) == "proven"
