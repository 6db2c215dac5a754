"""Heads of chains leave the log once no reorganisation reaches them, and no answer changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import select

from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake, cursor, ingest_lines
from app.feed.services.log import export_log
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids, retract_reporter
from app.transfers.models import ChainProgress, Event
from app.transfers.rules.events.event_types import EVENT_CLASSES
from tests.actors import TESTER
from tests.applications import Audited, change_part
from tests.feed.services.world import NOW, event, feed, forget_events

DEPTH = 10


@pytest.fixture
def app(app: Flask) -> Flask:
    """It takes reorganisations of ten blocks."""
    change_part(app, Intake, max_reorg_blocks=DEPTH)
    return app


def head(block: int, chain_id: int = 1, name: str = "head", at: float | None = None) -> dict[str, Any]:
    """A chain that is read up to a block, a second for each."""
    seconds = block - 1000 if at is None else at
    return event("chain.head", f"{name}-{block}", at=seconds, chain_id=chain_id, block=block)


def heads(first: int, last: int, **fields: Any) -> list[dict[str, Any]]:
    return [head(block, **fields) for block in range(first, last + 1)]


def blocks(database: Database, reporter: str = "test") -> list[int]:
    """Of the heads of chain 1 in the log."""
    query = select(Event.block).where(Event.type == "chain.head", Event.reporter == reporter)
    with reading(database.engine) as connection:
        return [block for block in connection.scalars(query.order_by(Event.block)) if block is not None]


def read_to(database: Database, chain_id: int = 1) -> tuple[int | None, float] | None:
    """How far the chain is read: the block, and the seconds after NOW."""
    columns = (ChainProgress.highest_block, ChainProgress.newest_at)
    with reading(database.engine) as connection:
        row = connection.execute(select(*columns).where(ChainProgress.chain_id == chain_id)).one_or_none()
    return None if row is None else (row.highest_block, (row.newest_at - NOW).total_seconds())


def one_by_one(app: Flask, *events: dict[str, Any], reporter: str = "test") -> None:
    for each in events:
        assert feed(app, each, reporter=reporter).refused == []


@pytest.mark.every_database
def test_polls_do_not_grow_the_log(app: Flask, database: Database, audited: Audited) -> None:
    one_by_one(app, *heads(1, 60))
    with_sixty = len(blocks(database))
    one_by_one(app, *heads(61, 120))
    assert blocks(database)[-1] == 120
    assert blocks(database)[0] <= 120 - DEPTH
    assert len(blocks(database)) == with_sixty <= DEPTH + 2
    assert read_to(database) == (120, 120 - 1000)
    replay(*audited, actor=TESTER)
    assert read_to(database) == (120, 120 - 1000)


def test_heads_within_reach_stay_in_log(app: Flask, database: Database) -> None:
    one_by_one(app, *heads(1, 100), event("chain.reorged", chain_id=1, from_block=100 - DEPTH))
    assert read_to(database) == (100 - DEPTH - 1, 0)
    assert feed(app, *heads(90, 100)).accepted == 11
    assert read_to(database) == (100, 0)
    refused = feed(app, event("chain.reorged", "deep", chain_id=1, from_block=89)).refused
    assert "11 blocks below" in refused[0].reason


def test_dropped_head_is_repeated(app: Flask, database: Database) -> None:
    """However often it is sent: neither the log nor a quota grows by it."""
    one_by_one(app, *heads(1, 100))
    before = blocks(database)
    for again in (heads(1, 100), heads(1, 5)):
        result = feed(app, *again)
        assert (result.accepted, result.repeated, result.refused) == (0, len(again), [])
    assert blocks(database) == before


def test_head_of_other_reporter_is_new(
    app: Flask, database: Database, environment_tokens: EnvironmentTokens
) -> None:
    """Two that read the same chain have the same ids; the slower one's cursor moves."""
    one_by_one(app, *heads(1, 100), reporter="fast")
    one_by_one(app, *heads(1, 50), reporter="slow")
    assert len(blocks(database, "slow")) <= DEPTH + 2
    token = replace(environment_tokens[0], name="slow")
    last = cursor(database, token)
    assert last is not None
    assert last.id == "head-50"


def test_heads_survive_those_of_other_reporter(app: Flask, database: Database, audited: Audited) -> None:
    one_by_one(app, *heads(1, 100), reporter="honest")
    before = blocks(database, "honest")
    one_by_one(app, *heads(10**9, 10**9 + 50, name="rogue", at=-1), reporter="rogue")
    one_by_one(app, head(101), reporter="honest")
    assert blocks(database, "honest")[-2:] == [100, 101]
    assert len(blocks(database, "honest")) >= len(before)
    retract_reporter(*audited, "rogue", NOW - timedelta(days=1), "rogue", actor=TESTER)
    assert read_to(database) == (101, 101 - 1000)


def test_retracted_head_restores_earlier_ones(app: Flask, database: Database, audited: Audited) -> None:
    one_by_one(app, *heads(1, 100), head(10**12, at=-1) | {"id": "wrong"})
    assert read_to(database) == (10**12, -1)
    one_by_one(app, *heads(101, 103))
    retract_ids(*audited, ["wrong"], "wrong", actor=TESTER)
    assert read_to(database) == (103, 103 - 1000)
    retract_ids(*audited, [f"head-{block}" for block in range(95, 104)], "wrong", actor=TESTER)
    assert read_to(database) == (94, 94 - 1000)
    replay(*audited, actor=TESTER)
    assert read_to(database) == (94, 94 - 1000)


@pytest.mark.parametrize("rogue_first", [False, True])
def test_export_of_heads_gives_the_same(
    app: Flask, database: Database, intake: Intake, audited: Audited, rogue_first: bool
) -> None:
    """Though who reads it in has one name for all reporters, and one of them was retracted."""
    reported = [(heads(1, 100), "honest"), (heads(10**9, 10**9 + 5, name="rogue", at=-1), "rogue")]
    for events, reporter in reversed(reported) if rogue_first else reported:
        one_by_one(app, *events, reporter=reporter)
    retract_reporter(*audited, "rogue", NOW - timedelta(days=1), "rogue", actor=TESTER)
    assert read_to(database) == (100, 100 - 1000)
    exported = list(export_log(database))
    forget_events(app)
    assert ingest_lines(database, intake, exported, "cli", types=EVENT_CLASSES).refused == []
    assert read_to(database) == (100, 100 - 1000)
