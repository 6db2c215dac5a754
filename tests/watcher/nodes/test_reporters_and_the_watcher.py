"""A log counts once and has the id of its first report, whoever reports it and however it is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import update

from app.credentials.rules.ingest_token import FROM_FILES
from app.db.engine import writing
from app.feed.services.ingest import ingest_lines
from app.feed.services.log import export_log
from app.feed.verifying.run import verify
from app.network.models import Chain, NetworkPart
from app.transfers.rules.events.event_types import EVENT_CLASSES
from tests.feed.services.world import feed, forget_events
from tests.gateway import Gateway
from tests.watcher.kit import (
    CHAIN,
    Watched,
    answers,
    liquidity,
)
from tests.watcher.nodes.counted import COUNTS, ELSEWHERE, Count, expect, ids, mine, read

pytestmark = pytest.mark.every_database


def reports(gateway: Gateway, watched: Watched, count: Count) -> list[dict[str, Any]]:
    """What a reporter says that reads the chain from a node that counts so, with optional fields left out."""
    read(watched, count)
    lines = [json.loads(line) for line in export_log(gateway.database)]
    forget_events(gateway)
    left_out = {"seq", "reporter", "received_at", "log_index", "withdraw_id"}
    return [
        {name: line[name] for name in line if name not in left_out or line["type"] == "withdraw.done"}
        for line in lines
        if line["type"] not in ("chain.head", "events.retracted")
    ]


def is_watched(gateway: Gateway) -> None:
    """The chain is configured to be watched."""
    with writing(gateway.engine) as connection:
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
    gateway: Gateway, watched: Watched, count: str, other: str, first: str, together: bool
) -> None:
    mine(watched)
    lines = reports(gateway, watched, COUNTS[count])
    is_watched(gateway)
    if first == "watcher":
        read(watched, COUNTS[other])
    before = ids(gateway)
    for post in [lines] if together else [[line] for line in lines]:
        result = feed(gateway, *post)
        assert not result.refused
        assert result.repeated == len(post) or first == "reporter"
    if first == "reporter":
        assert not together or result.accepted == len(lines)
        before = ids(gateway)
        read(watched, COUNTS[other])
    assert ids(gateway) == before or not together
    expect(gateway, watched)


def test_two_reporters_mean_one_log(gateway: Gateway, watched: Watched) -> None:
    mine(watched)
    first = reports(gateway, watched, COUNTS["in the block"])
    second = reports(gateway, watched, COUNTS["in the transaction"])
    is_watched(gateway)
    assert feed(gateway, *first, reporter="one").accepted == len(first)
    result = feed(gateway, *second, reporter="two")
    assert (result.accepted, result.refused) == (0, [])
    read(watched, COUNTS["in the transaction from one on"])
    expect(gateway, watched)


def test_equal_logs_count_one_by_one_where_nobody_reads_the_chain(gateway: Gateway, watched: Watched) -> None:
    mine(watched)
    lines = reports(gateway, watched, COUNTS["in the block"])
    assert [feed(gateway, line).accepted for line in lines] == [1] * len(lines)
    found = answers(gateway)["pools"]
    forget_events(gateway)
    read(watched, COUNTS["in the block"])
    assert answers(gateway)["pools"] == found


def test_repetition_is_accepted_again_after_a_reorganisation(gateway: Gateway, watched: Watched) -> None:
    watched.chain.mine_many(3)
    watched.chain.mine(ELSEWHERE, liquidity(1, 100, "a"), liquidity(2, 100, "a"))
    watched.chain.mine_many(12)
    lines = reports(gateway, watched, COUNTS["in the block"])
    read(watched, COUNTS["in the transaction"])
    before, found = ids(gateway), answers(gateway)
    taken_back = {
        "type": "chain.reorged",
        "id": "again",
        "at": lines[0]["at"],
        "chain_id": CHAIN,
        "from_block": 4,
    }
    feed(gateway, taken_back)
    assert answers(gateway) != found
    assert feed(gateway, *lines).accepted == len(lines)
    assert answers(gateway) == found and set(ids(gateway)) == {*before, "again"}
    verify(gateway.database, lambda difference: pytest.fail(str(difference)))


def test_exported_log_is_taken_as_it_is(gateway: Gateway, watched: Watched) -> None:
    mine(watched)
    read(watched, COUNTS["in the transaction"])
    found, lines = answers(gateway), list(export_log(gateway.database))
    forget_events(gateway)
    is_watched(gateway)
    for line in lines:
        ingest_lines(gateway.database, gateway.intake, [line], FROM_FILES, types=EVENT_CLASSES)
    assert answers(gateway) == found
