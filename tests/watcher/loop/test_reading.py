"""What a chain says comes into the database, however it is read."""

from __future__ import annotations

from app.db.database import Database
from tests.watcher.kit import Watched, answers, row, send


def test_send_is_seen_confirmed_proven(database: Database, watched: Watched) -> None:
    chain = watched.chain
    chain.mine_many(2)
    chain.mine(send(7))
    reader = watched.reader()
    watched.settle(reader)
    assert answers(database)["7"] == 1
    chain.mine_many(3)
    watched.settle(reader)
    assert answers(database)["7"] == 3
    chain.mine_many(10)
    watched.settle(reader)
    kept = row(database)
    assert (kept.live_to, kept.head) == (16, 16)
    assert kept.reread_to == 10
