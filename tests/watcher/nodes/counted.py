"""Nodes that count the logs of one chain differently, and what is known after they were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.verifying.run import verify
from app.network.models import ReportedValidatorSet
from app.transfers.models import Event
from tests.feed.services.world import forget_events
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import (
    ELSEWHERE,
    REFUNDED,
    Watched,
    answers,
    liquidity,
    missed,
    queued,
    refund,
    relay,
    rotation,
    row,
    send,
)
from tests.watcher.nodes.behaviours import counting

Count = Callable[[int, int], int]

COUNTS: dict[str, Count] = {
    "in the block": lambda in_block, _: in_block,
    "in the transaction": lambda _, in_tx: in_tx,
    "in the transaction from one on": lambda _, in_tx: in_tx + 1,
}


def mine(watched: Watched) -> None:
    """Blocks with several transactions of several logs, some of which say the same."""
    chain = watched.chain
    chain.mine(ELSEWHERE, send(1), send(2, tx="two"), send(3, tx="two"))
    chain.mine(*(liquidity(n, 100, tx) for n, tx in ((1, "a"), (1, "a"), (2, "a"), (3, "b"), (3, "b"))))
    chain.mine(send(REFUNDED, tx="c"), liquidity(4, 100, "c"), liquidity(5, 200, "d"), relay(7, tx="d"))
    chain.mine(*(rotation(bytes([member]) * 20) for member in range(1, 9)))
    chain.mine(liquidity(6, 300, "e"), queued(8, "e"), relay(8, tx="e"), refund(REFUNDED, tx="f"))
    chain.mine_many(12)


def read(watched: Watched, *counts: Count, receipts: bool = True) -> None:
    """Read everything by nodes that count so, and prove it."""
    nodes = [FakeNode(watched.chain, receipts=receipts) for _ in counts]
    watched.nodes = nodes
    for node, count in zip(nodes, counts, strict=True):
        node.behaviours = [counting(watched.chain, count)]
    watched.settle(watched.reader())


def read_once(watched: Watched, count: Count) -> None:
    """Read everything once by a node that counts so."""
    watched.nodes = [FakeNode(watched.chain, behaviours=[counting(watched.chain, count)])]
    reader = watched.reader()
    reader.poll()
    while row(watched.database).backfilled_to is None:
        reader.background()


def ids(database: Database) -> list[str]:
    """The ids of all that was reported of logs, in the order of their text."""
    with reading(database.engine) as connection:
        found = connection.scalars(select(Event.event_id).where(Event.type != "chain.head"))
        return sorted(set(found))


def signers(database: Database) -> Any:
    """The set that is in force."""
    with reading(database.engine) as connection:
        return connection.scalar(select(ReportedValidatorSet.members))


def expect(watched: Watched) -> None:
    """Everything is proven without a difference, and the answers are those of a node that counts by block."""
    final = watched.chain.head.number - 6
    kept = row(watched.database)
    assert (kept.reread_to, kept.proven_to) == (final, final)
    assert not missed(watched.database) and kept.differed == kept.refused == 0
    verify(watched.database, lambda found: pytest.fail(str(found)))
    found, in_force = answers(watched.database), signers(watched.database)
    forget_events(watched.app)
    read(watched, COUNTS["in the block"])
    assert (answers(watched.database), signers(watched.database)) == (found, in_force)
