"""What a release before the rule of evidence called proven is read again: slowly, next to the daily work."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.values.codes import TransferHistoryStatus as Status
from app.watcher.models import WatchSpan
from app.watcher.rpc.faults import RpcFault
from tests.watcher.kit import ELSEWHERE, Watched, leaves_out, relay, send
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


def test_ranges_are_read_again_slowly(database: Database, watched: Watched) -> None:
    mine(watched, 500)
    watched.add_urls(1)
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
    assert watched.row.proven_to == 494
    assert level(watched, 490) == "proven"
    watched.settle(reader, rounds=60)
    assert left(database) == []


def test_false_payout_is_found_and_lost_send_stays(database: Database, watched: Watched) -> None:
    """Both URLs returned the false payout, as one of them followed the other."""
    payouts_of(watched, 7)
    watched.chain.mine(send(1), ELSEWHERE)
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(20)
    watched.add_urls(1)
    for node in watched.nodes:
        node.invent, node.receipts = {2: [relay(7)]}, False
    reader = watched.reader()
    watched.settle(reader)
    assert watched.status(7) == Status.TRANSFER_COMPLETED
    as_before(database)
    for node in watched.nodes:
        node.invent, node.receipts, node.omit = {}, True, leaves_out(send(1))
    watched.settle(watched.reader())
    assert watched.status(7) == Status.TRANSFER_SUBMITTING
    assert watched.status(1) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION


def test_pruned_blocks_stop_nothing(database: Database, watched: Watched) -> None:
    mine(watched, 500)
    watched.add_urls(1)
    watched.settle(watched.reader())
    as_before(database)
    for node in watched.nodes:
        node.oldest = 300
    reader = watched.reader()
    for _ in range(30):
        watched.chain.mine()
        watched.time.go(3)
        with suppress(RpcFault):
            reader.poll()
        with suppress(RpcFault):
            while (wait := reader.background()) is not None and wait < 0.6:
                watched.time.go(wait)
        assert watched.chain.head.number - watched.row.live_to <= 3
    assert left(database) == [(1, 396)]
    assert level(watched, 490) == "proven"
