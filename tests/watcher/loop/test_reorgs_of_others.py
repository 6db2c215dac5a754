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
from app.watcher.loop.poll import Outcome
from app.watcher.loop.reader import Reader
from app.watcher.models import ChainWatch
from app.watcher.queries import reorgs_since
from app.watcher.rpc.faults import RpcFault
from app.watcher.services import advance as module
from app.watcher.services.lease import write_under
from tests.amounts import few_or_many
from tests.feed.services.world import NOW, event, feed, forget_events
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import CHAIN, OTHER, Watched, executed, liquidity, queued, refund, send

REORGS, HEADS = 30, 3_000
"""In the log: so many that no database prefers to read the whole of it."""


def take_back(watched: Watched, from_block: int, chain_id: int = CHAIN, reporter: str = "slow") -> None:
    """A reporter reports a reorganisation, in its own words."""
    fact = event("chain.reorged", chain_id=int(chain_id), from_block=from_block)
    assert feed(watched.app, fact, reporter=reporter).refused == []


def read_to(watched: Watched) -> int:
    """The highest block of the chain that the log names."""
    with reading(watched.database.engine) as connection:
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
    assert "2" in watched.answers
    return reader


@pytest.mark.parametrize("urls", [1, 2])
def test_blocks_are_reported_again_at_once(watched: Watched, urls: int) -> None:
    """With the next poll, without a new block, and of blocks that are not final, too."""
    watched.add_urls(urls - 1)
    reader = read_branch(watched)
    before = watched.answers
    take_back(watched, watched.chain.head.number - 2)
    assert watched.answers != before
    assert read_to(watched) < watched.chain.head.number
    watched.time.go(100)
    reader.poll()
    assert watched.answers == before
    assert read_to(watched) == watched.chain.head.number
    watched.settle(reader)
    assert watched.answers == before


@pytest.mark.parametrize("urls", [1, 2])
def test_proven_blocks_become_unproven(watched: Watched, urls: int) -> None:
    watched.add_urls(urls - 1)
    for number in range(1, 30):
        watched.chain.mine(send(number))
    watched.chain.mine_many(11)
    reader = watched.reader()
    watched.settle(reader)
    before, proven = watched.answers, watched.row.proven_to
    assert proven == 34
    take_back(watched, 11)
    reader.poll()
    reader._write(Outcome(reader._seen()))
    assert (watched.row.proven_to, watched.row.reread_to) == (10, 10)
    watched.settle(reader)
    assert watched.answers == before
    assert watched.row.proven_to == proven
    assert (watched.row.differed, watched.missed) == (0, [])


@pytest.mark.parametrize(("urls", "read"), [(1, False), (2, True)], ids=["before", "after"])
def test_reorg_during_proof_proves_nothing(
    watched: Watched, urls: int, read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before the blocks are read that would be proven, or after, but before the step is written."""
    watched.add_urls(urls - 1)
    reader = read_branch(watched)
    from_block = watched.chain.head.number - 2
    watched.chain.mine_many(20)
    while reader.poll():
        pass
    if urls == 1:
        while reader.reread():
            pass
    before = watched.answers

    def late(*args: Any) -> Any:
        monkeypatch.setattr(reader_module, "advance", module.advance)
        take_back(watched, from_block)
        return module.advance(*args)

    if read:
        monkeypatch.setattr(reader_module, "advance", late)
    else:
        take_back(watched, from_block)
    assert reader.prove() if urls == 1 else reader.reread()
    assert (watched.row.proven_to or 0) < from_block
    reader.faults.write(reader.lease)
    assert watched.row.fault.startswith(f"somebody else reported a reorganisation from block {from_block}:")
    watched.settle(reader)
    assert watched.answers == before
    assert (watched.row.differed, watched.missed) == (0, [])


@pytest.mark.parametrize("writes", [0, 1, 3, 6])
def test_kill_at_any_moment_loses_nothing(
    watched: Watched, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watcher dies as a step begins, or before it is committed, and another goes on."""
    watched.add_urls(1)
    reader = read_branch(watched)
    before = watched.answers
    take_back(watched, watched.chain.head.number - 2)
    watched.chain.mine_many(12)
    left = [writes]

    def dies(*args: Any, **values: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return write_under(*args, **values)

    monkeypatch.setattr(module, "write_under", dies)
    with suppress(KeyboardInterrupt):
        watched.settle(reader)
    monkeypatch.undo()
    watched.settle(watched.reader())
    assert watched.answers["pools"] == before["pools"]
    assert watched.answers["2"] == 3
    assert watched.row.proven_to == watched.chain.head.number - 6


@pytest.mark.parametrize("which", ["above", "other chain", "own"])
def test_irrelevant_reorgs_cost_nothing(watched: Watched, which: str) -> None:
    watched.add_urls(1)
    reader = read_branch(watched)
    spans, requests = list(reader.view.readings.spans), reader.view.nodes.requests
    proven = watched.row.proven_to
    if which == "above":
        take_back(watched, watched.chain.head.number + 1)
    elif which == "other chain":
        take_back(watched, 1, OTHER)
    else:
        take_back(watched, 2, reporter="watcher")
    reader._write(Outcome(reader._seen()))
    assert (list(reader.view.readings.spans), watched.row.proven_to) == (spans, proven)
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


def test_chain_of_older_version_is_read_again(database: Database, watched: Watched) -> None:
    """By an older version: what a reorganisation of now could reach is read again."""
    watched.add_urls(1)
    reader = read_branch(watched)
    watched.chain.mine_many(12)
    watched.settle(reader)
    before = watched.answers
    take_back(watched, 10)
    assert watched.answers != before
    with writing(database.engine) as connection:
        connection.execute(update(ChainWatch).values(extra={}))
    watched.settle(watched.reader())
    assert watched.answers == before


def test_several_reorgs_go_below_the_limit(watched: Watched) -> None:
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
    assert watched.answers["9"] == 10
    for from_block in (60, 20):
        take_back(watched, from_block)
    assert watched.answers["9"] != 10
    chain.mine_many(12)
    watched.settle(reader)
    assert watched.answers["9"] == 10
    assert watched.row.proven_to == chain.head.number - 6


def test_belated_reorg_is_followed(watched: Watched) -> None:
    """A reporter that lost its state repeats a reorganisation of long ago: what was read falls again."""
    watched.add_urls(1)
    reader = read_branch(watched)
    from_block = watched.chain.head.number - 2
    fact = event("chain.reorged", chain_id=int(CHAIN), from_block=from_block)
    feed(watched.app, fact, reporter="slow")
    watched.settle(reader)
    watched.chain.mine_many(80)
    watched.settle(reader)
    before = watched.answers
    assert feed(watched.app, fact, reporter="slow").refused == []
    assert watched.answers != before
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert watched.answers == before
    assert watched.row.proven_to == watched.chain.head.number - 6


@pytest.mark.parametrize("histories", few_or_many(2, 200))
def test_reorgs_of_reporters_change_no_answer(app: Flask, histories: int) -> None:
    for seed in range(histories):
        forget_events(app)
        read_with_reorgs_of_others(Watched(app), random.Random(seed))


def read_with_reorgs_of_others(watched: Watched, rng: random.Random) -> None:
    """Read while a reporter takes blocks back: the answers are those of an undisturbed reading."""
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
            stored = [tuple(log for log in each.logs if rng.random() < 0.7) for each in chain.blocks[-depth:]]
            chain.reorg(depth, stored + [()] * rng.randrange(3))
        elif what < 0.75:
            reader = watched.reader()
        elif what < 0.85:
            chain.mine_many(rng.randrange(6))
        if rng.random() < 0.2:
            lowest = max(0, chain.head.number - 30)
            fact = event("chain.reorged", chain_id=1, from_block=rng.randrange(lowest, chain.head.number + 1))
            feed(watched.app, fact, reporter="slow")
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
    stored = watched.row
    assert stored.proven_to == stored.live_to - int(watched.finality)
    watched.expect_undisturbed()
