"""Somebody else's reorganisation takes back what was read: it is read and reported again, then proven."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event as of_engine
from sqlalchemy import insert, select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.transfers.models import ChainProgress, Event
from app.transfers.rules.events.event_types import ChainHead, ChainReorged
from app.watcher.loop import reader as reader_module
from app.watcher.loop.reader import Reader
from app.watcher.models import ChainWatch
from app.watcher.queries import reorgs_since
from app.watcher.rpc.faults import RpcFault
from app.watcher.services import advance as module
from app.watcher.services.lease import LeaseLost
from tests.everyday import volume
from tests.feed.services.world import NOW, event, feed, forget_events
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import (
    CHAIN,
    OTHER,
    Watched,
    answers,
    executed,
    liquidity,
    missed,
    queued,
    refund,
    row,
    send,
)

SEEDS = volume(200, 6)

REORGS, HEADS = 30, 3_000
"""In the log: so many that no database prefers to read the whole of it."""


def take_back(app: Flask, from_block: int, chain_id: int = CHAIN, reporter: str = "slow") -> None:
    """A reporter reports a reorganisation, in its own words."""
    fact = event("chain.reorged", chain_id=int(chain_id), from_block=from_block)
    assert feed(app, fact, reporter=reporter).refused == []


def read_to(database: Database) -> int:
    """The highest block of the chain that the log names."""
    with reading(database.engine) as connection:
        highest = connection.scalar(
            select(ChainProgress.highest_block).where(ChainProgress.chain_id == CHAIN)
        )
        assert highest is not None
        return int(highest)


def read_branch(watched: Watched) -> Reader:
    """Read a chain, and the two blocks that replaced its last ones and have a deposit and a send."""
    chain = watched.chain
    chain.mine_many(5)
    chain.mine(send(1))
    chain.mine_many(5)
    reader = watched.reader()
    watched.settle(reader)
    chain.reorg(2, [(liquidity(1, 500), send(2)), (), ()])
    watched.settle(reader)
    assert "2" in answers(watched.database)
    return reader


@pytest.mark.parametrize("urls", [1, 2])
def test_it_is_reported_again_at_once(app: Flask, database: Database, watched: Watched, urls: int) -> None:
    """With the next poll, without a new block, and of blocks that are not final, too."""
    watched.nodes += [FakeNode(watched.chain) for _ in range(urls - 1)]
    reader = read_branch(watched)
    before = answers(database)
    take_back(app, watched.chain.head.number - 2)
    assert answers(database) != before
    assert read_to(database) < watched.chain.head.number
    watched.time.go(100)
    reader.poll()
    assert answers(database) == before
    assert read_to(database) == watched.chain.head.number
    watched.settle(reader)
    assert answers(database) == before


@pytest.mark.one_database
@pytest.mark.parametrize("urls", [1, 2])
def test_nothing_is_proven_before(app: Flask, database: Database, watched: Watched, urls: int) -> None:
    """The reorganisation comes when the blocks are final, and are just to be read for the second time."""
    watched.nodes += [FakeNode(watched.chain) for _ in range(urls - 1)]
    reader = read_branch(watched)
    from_block = watched.chain.head.number - 2
    watched.chain.mine_many(20)
    while reader.poll():
        pass
    before = answers(database)
    take_back(app, from_block)
    for _ in range(40):
        watched.time.go(100)
        moves = reader.reread() or reader.prove() or reader.poll()
        proven = row(database).proven_to
        assert proven is None or proven < from_block or answers(database) == before
        if not moves:
            break
    watched.settle(reader)
    assert answers(database) == before
    assert row(database).proven_to == watched.chain.head.number - 6
    assert (row(database).differed, missed(database)) == (0, [])


@pytest.mark.one_database
@pytest.mark.parametrize("urls", [1, 2])
def test_what_was_proven_is_so_no_longer(app: Flask, database: Database, watched: Watched, urls: int) -> None:
    watched.nodes += [FakeNode(watched.chain) for _ in range(urls - 1)]
    for number in range(1, 30):
        watched.chain.mine(send(number))
    watched.chain.mine_many(11)
    reader = watched.reader()
    watched.settle(reader)
    before, proven = answers(database), row(database).proven_to
    assert proven == 34
    take_back(app, 11)
    reader.poll()
    reader._write(reader_module.Outcome(reader._seen()))
    assert (row(database).proven_to, row(database).reread_to) == (10, 10)
    watched.settle(reader)
    assert answers(database) == before
    assert row(database).proven_to == proven
    assert (row(database).differed, missed(database)) == (0, [])


@pytest.mark.one_database
@pytest.mark.parametrize("read", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("urls", [1, 2])
def test_reading_that_proves_meanwhile_proves_nothing(
    app: Flask, database: Database, watched: Watched, urls: int, read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before the blocks are read that would be proven, or after, but before the step is written."""
    watched.nodes += [FakeNode(watched.chain) for _ in range(urls - 1)]
    reader = read_branch(watched)
    from_block = watched.chain.head.number - 2
    watched.chain.mine_many(20)
    while reader.poll():
        pass
    if urls == 1:
        while reader.reread():
            pass
    before, write = answers(database), reader_module.advance

    def late(*args: Any) -> Any:
        monkeypatch.setattr(reader_module, "advance", write)
        take_back(app, from_block)
        return write(*args)

    if read:
        monkeypatch.setattr(reader_module, "advance", late)
    else:
        take_back(app, from_block)
    assert reader.prove() if urls == 1 else reader.reread()
    assert (row(database).proven_to or 0) < from_block
    reader.faults.write(reader.lease)
    assert row(database).fault.startswith(f"somebody else reported a reorganisation from block {from_block}:")
    watched.settle(reader)
    assert answers(database) == before
    assert (row(database).differed, missed(database)) == (0, [])


@pytest.mark.one_database
def test_another_watcher_goes_on(app: Flask, database: Database, watched: Watched) -> None:
    """Whoever notices it has the lease: one that lost it, or was killed as it wrote, notices nothing."""
    watched.nodes.append(FakeNode(watched.chain))
    first = read_branch(watched)
    before = answers(database)
    take_back(app, watched.chain.head.number - 2)
    second = watched.reader()
    with pytest.raises(LeaseLost):
        first._write(reader_module.Outcome(first._seen()))
    assert answers(database) != before
    watched.settle(second)
    assert answers(database) == before


@pytest.mark.one_database
@pytest.mark.parametrize("writes", range(12))
def test_a_kill_at_any_moment_loses_nothing(
    app: Flask, database: Database, watched: Watched, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watcher dies as a step begins, or before it is committed, and another goes on."""
    watched.nodes.append(FakeNode(watched.chain))
    reader = read_branch(watched)
    before = answers(database)
    take_back(app, watched.chain.head.number - 2)
    watched.chain.mine_many(12)
    write, left = module.write_under, [writes]

    def dies(*args: Any, **values: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return write(*args, **values)

    monkeypatch.setattr(module, "write_under", dies)
    with suppress(KeyboardInterrupt):
        watched.settle(reader)
    monkeypatch.undo()
    watched.settle(watched.reader())
    assert answers(database)["pools"] == before["pools"]
    assert answers(database)["2"] == 3
    assert row(database).proven_to == watched.chain.head.number - 6


@pytest.mark.one_database
@pytest.mark.parametrize("which", ["above", "other chain", "own"])
def test_others_cost_nothing(app: Flask, database: Database, watched: Watched, which: str) -> None:
    watched.nodes.append(FakeNode(watched.chain))
    reader = read_branch(watched)
    spans, requests = list(reader.view.readings.spans), reader.view.nodes.requests
    proven = row(database).proven_to
    if which == "above":
        take_back(app, watched.chain.head.number + 1)
    elif which == "other chain":
        take_back(app, 1, OTHER)
    else:
        take_back(app, 2, reporter="watcher")
    reader._write(reader_module.Outcome(reader._seen()))
    assert (list(reader.view.readings.spans), row(database).proven_to) == (spans, proven)
    assert not reader.reread()
    assert reader.view.nodes.requests == requests


def test_ordinary_step_takes_one_look_at_an_index(database: Database) -> None:
    """By position, in the one of reorganisations, however many events the log has."""
    plans: list[str] = []
    postgres = database.engine.dialect.name == "postgresql"

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        cursor.execute(f"EXPLAIN {'' if postgres else 'QUERY PLAN '}{statement}", parameters)
        plans.append(str(cursor.fetchall()))

    with writing(database.engine) as connection:
        connection.execute(insert(Event), [_logged(seq) for seq in range(1, REORGS + HEADS + 1)])
        if postgres:
            connection.exec_driver_sql("ANALYZE events")
        of_engine.listen(connection, "before_cursor_execute", explain)
        assert reorgs_since(connection, CHAIN, REORGS, -1, reporter="watcher") == (None, None)
        of_engine.remove(connection, "before_cursor_execute", explain)
        connection.rollback()  # other tests need other statistics
    [plan] = plans
    assert "ix_events_reorgs" in plan
    assert "seq>?" in plan or "Index Cond: (seq > " in plan


def _logged(seq: int) -> dict[str, Any]:
    """An event of a log of reorganisations and then of heads."""
    event_type = ChainReorged.type if seq <= REORGS else ChainHead.type
    of_log = {"seq": seq, "event_id": str(seq), "subject": f"chain:{CHAIN}", "occurrence": 0, "body": "{}"}
    of_event = {"type": event_type, "at": NOW, "chain_id": CHAIN, "block": seq}
    return of_log | of_event | {"received_at": NOW, "reporter": "other"}


@pytest.mark.one_database
def test_chain_that_was_read_before_this_was_looked_at(
    app: Flask, database: Database, watched: Watched
) -> None:
    """By an older version: what a reorganisation of now could reach is read again."""
    watched.nodes.append(FakeNode(watched.chain))
    reader = read_branch(watched)
    watched.chain.mine_many(12)
    watched.settle(reader)
    before = answers(database)
    take_back(app, 10)
    assert answers(database) != before
    with writing(database.engine) as connection:
        connection.execute(update(ChainWatch).values(extra={}))
    watched.settle(watched.reader())
    assert answers(database) == before


@pytest.mark.one_database
def test_several_in_a_row_go_below_what_is_believed(app: Flask, database: Database, watched: Watched) -> None:
    """There the queue of a payout is forgotten, as it was paid: the chain is read from its beginning."""
    chain = watched.chain
    watched.nodes.append(FakeNode(chain))
    chain.mine(send(9))
    chain.mine(queued(9, "one"), refund(9, tx="one"))
    chain.mine_many(20)
    chain.mine(executed(9, 1000))
    chain.mine_many(80)
    reader = watched.reader()
    watched.settle(reader)
    chain.mine()
    watched.settle(reader)
    assert reader.view.readings.waiting == []
    assert answers(database)["9"] == 10
    for from_block in (60, 20):
        take_back(app, from_block)
    assert answers(database)["9"] != 10
    chain.mine_many(12)
    watched.settle(reader)
    assert answers(database)["9"] == 10
    assert row(database).proven_to == chain.head.number - 6


@pytest.mark.one_database
def test_belated_one_too(app: Flask, database: Database, watched: Watched) -> None:
    """A reporter that lost its state repeats a reorganisation of long ago: what was read falls again."""
    watched.nodes.append(FakeNode(watched.chain))
    reader = read_branch(watched)
    from_block = watched.chain.head.number - 2
    fact = event("chain.reorged", chain_id=int(CHAIN), from_block=from_block)
    feed(app, fact, reporter="slow")
    watched.settle(reader)
    watched.chain.mine_many(80)
    watched.settle(reader)
    before = answers(database)
    assert feed(app, fact, reporter="slow").refused == []
    assert answers(database) != before
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert answers(database) == before
    assert row(database).proven_to == watched.chain.head.number - 6


@pytest.mark.one_database
@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_of_them_equal_undisturbed_reading(
    app: Flask, database: Database, watched: Watched, seed: int
) -> None:
    rng = random.Random(seed)
    chain = watched.chain
    watched.finality = rng.choice([2, 6, 12])
    watched.nodes += [FakeNode(chain) for _ in range(rng.randrange(2))]
    chain.mine_many(rng.randrange(30))
    reader, sent = watched.reader(), 0
    for _ in range(25):
        what = rng.random()
        if what < 0.5:
            sent += 1
            chain.mine(*(send(sent * 10 + n) for n in range(rng.randrange(3))), liquidity(sent, sent))
        elif what < 0.65 and chain.head.number > 3:
            depth = rng.randrange(1, min(chain.head.number, 8))
            kept = [tuple(log for log in each.logs if rng.random() < 0.7) for each in chain.blocks[-depth:]]
            chain.reorg(depth, kept + [()] * rng.randrange(3))
        elif what < 0.75:
            reader = watched.reader()
        elif what < 0.85:
            chain.mine_many(rng.randrange(6))
        if rng.random() < 0.2:
            lowest = max(0, chain.head.number - 30)
            fact = event("chain.reorged", chain_id=1, from_block=rng.randrange(lowest, chain.head.number + 1))
            feed(app, fact, reporter="slow")
        watched.time.go(1)
        with suppress(RpcFault):
            if rng.random() < 0.6:
                reader.poll()
            if rng.random() < 0.6:
                reader.background()
            if rng.random() < 0.4:
                reader.reread()
            if rng.random() < 0.4:
                reader.prove()
    watched.settle(reader)
    chain.mine_many(20)
    watched.settle(reader)
    found, kept_row = answers(database), row(database)
    assert kept_row.proven_to == kept_row.live_to - int(watched.finality)
    forget_events(app)
    watched.settle(watched.reader())
    assert found == answers(database)
