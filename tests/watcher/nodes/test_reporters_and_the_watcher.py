"""A log counts once and has the id of its first report, whoever reports it and however it is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.credentials.rules.ingest_token import FROM_FILES
from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.log import export_log
from app.feed.verifying.run import verify
from app.network.models import Chain, NetworkPart
from app.transfers.rules.events.event_types import EVENT_CLASSES
from tests.feed.services.world import feed, forget_events
from tests.watcher.kit import (
    CHAIN,
    Watched,
    answers,
    liquidity,
)
from tests.watcher.nodes.counted import COUNTS, ELSEWHERE, Count, expect, ids, mine, read

pytestmark = pytest.mark.every_database


def reports(watched: Watched, count: Count) -> list[dict[str, Any]]:
    """What a reporter says that reads the chain from a node that counts so, with optional fields left out."""
    read(watched, count)
    lines = [json.loads(line) for line in export_log(watched.database)]
    forget_events(watched.app)
    left_out = {"seq", "reporter", "received_at", "log_index", "withdraw_id"}
    return [
        {name: line[name] for name in line if name not in left_out or line["type"] == "withdraw.done"}
        for line in lines
        if line["type"] not in ("chain.head", "events.retracted")
    ]


def is_watched(database: Database) -> None:
    """The chain is configured to be watched."""
    with writing(database.engine) as connection:
        connection.execute(update(Chain).where(Chain.chain_id == CHAIN).values(watch_from_block=1, rpc=["A"]))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one by one"])
@pytest.mark.parametrize(
    ("count", "other"),
    [
        ("in the block", "in the transaction"),
        ("in the transaction", "in the block"),
        ("in the transaction", "in the transaction from one on"),
    ],
)
@pytest.mark.parametrize("first", ["reporter", "watcher"])
def test_watcher_and_reporter_mean_one_log(
    app: Flask, database: Database, watched: Watched, count: str, other: str, first: str, together: bool
) -> None:
    mine(watched)
    lines = reports(watched, COUNTS[count])
    is_watched(database)
    if first == "watcher":
        read(watched, COUNTS[other])
    before = ids(database)
    for post in [lines] if together else [[line] for line in lines]:
        result = feed(app, *post)
        assert not result.refused
        assert result.repeated == len(post) or first == "reporter"
    if first == "reporter":
        assert not together or result.accepted == len(lines)
        before = ids(database)
        read(watched, COUNTS[other])
    assert ids(database) == before or not together
    expect(watched)


def test_two_reporters_mean_one_log(app: Flask, database: Database, watched: Watched) -> None:
    mine(watched)
    first = reports(watched, COUNTS["in the block"])
    second = reports(watched, COUNTS["in the transaction"])
    is_watched(database)
    assert feed(app, *first, reporter="one").accepted == len(first)
    result = feed(app, *second, reporter="two")
    assert (result.accepted, result.refused) == (0, [])
    read(watched, COUNTS["in the transaction from one on"])
    expect(watched)


def test_equal_logs_count_one_by_one_where_nobody_reads_the_chain(
    app: Flask, database: Database, watched: Watched
) -> None:
    mine(watched)
    lines = reports(watched, COUNTS["in the block"])
    assert [feed(app, line).accepted for line in lines] == [1] * len(lines)
    found = answers(database)["pools"]
    forget_events(app)
    read(watched, COUNTS["in the block"])
    assert answers(database)["pools"] == found


def test_repetition_is_accepted_again_after_a_reorganisation(
    app: Flask, database: Database, watched: Watched
) -> None:
    watched.chain.mine_many(3)
    watched.chain.mine(ELSEWHERE, liquidity(1, 100, "a"), liquidity(2, 100, "a"))
    watched.chain.mine_many(12)
    lines = reports(watched, COUNTS["in the block"])
    read(watched, COUNTS["in the transaction"])
    before, found = ids(database), answers(database)
    taken_back = {
        "type": "chain.reorged",
        "id": "again",
        "at": lines[0]["at"],
        "chain_id": CHAIN,
        "from_block": 4,
    }
    feed(app, taken_back)
    assert answers(database) != found
    assert feed(app, *lines).accepted == len(lines)
    assert answers(database) == found and set(ids(database)) == {*before, "again"}
    verify(database, lambda difference: pytest.fail(str(difference)))


def test_exported_log_is_taken_as_it_is(
    app: Flask, database: Database, intake: Intake, watched: Watched
) -> None:
    mine(watched)
    read(watched, COUNTS["in the transaction"])
    found, lines = answers(database), list(export_log(database))
    forget_events(app)
    is_watched(database)
    for line in lines:
        ingest_lines(database, intake, [line], FROM_FILES, types=EVENT_CLASSES)
    assert answers(database) == found
