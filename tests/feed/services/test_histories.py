"""After any history, in any order and batches, answers are the same; a replay of the log changes nothing."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import select

from app.audit.keys import AuditKeys
from app.console.transfers.detail import reply_to_user, timeline_of, transfer_detail
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.ahead import settle
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.feed.verifying.comparing import Difference
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.models import Event
from app.transfers.rules.events.keys import OPERATORS
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited, audited_of, change_part
from tests.builders.clock import MovableClock
from tests.feed.seeds import seeds
from tests.feed.services.any_order import (
    EVERYTHING,
    REORGS,
    SHARED,
    Events,
    answers_after,
    arrival,
    of_transfer,
)
from tests.feed.services.everything import everything, forget_projections
from tests.feed.services.histories import WHAT_ANY_LOG_SHOWS, live_through
from tests.feed.services.world import (
    NOW,
    about,
    event,
    feed,
    forget_events,
    id_of,
    sent,
    transfer_id,
)

DEPTHS = (40, 1000)
"""Blocks that a reorganisation may reach back: with few, heads leave the log."""
NAMED_AT_RANDOM = ("retracted_events", "retraction_targets")


@pytest.mark.every_database
@pytest.mark.parametrize("tried", seeds(4))
def test_a_replay_changes_nothing(app: Flask, tried: range) -> None:
    for seed in tried:
        change_part(app, Database, clock=MovableClock(NOW))
        change_part(app, Intake, max_reorg_blocks=DEPTHS[seed % 2])
        database = part_of(app, Database)
        happened = live_through(app, seed)
        with writing(database.engine) as connection:  # as the next write does first
            settle(connection, database.clock())
        before = everything(database)
        replay(*audited_of(app), actor=TESTER)
        after = everything(database)
        for name, rows in before.items():
            assert rows == after[name], (seed, name, happened)
        reported: list[Difference] = []
        verify(database, reported.append)
        assert not reported, (seed, [str(each) for each in reported], happened)
        forget_projections(database)
        replay(*audited_of(app), actor=TESTER)
        again = everything(database)
        for name, rows in before.items():
            assert rows == again[name], (seed, name, happened)


@pytest.mark.parametrize("tried", seeds(2))
def test_heads_that_left_the_log_change_nothing(
    app: Flask, tried: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a gateway whose log loses nothing; neither does pruning at the end."""
    change_part(app, Database, clock=MovableClock(NOW))
    change_part(app, Intake, max_reorg_blocks=DEPTHS[0])
    database = part_of(app, Database)
    for seed in tried:
        with monkeypatch.context() as keeping:
            keeping.setattr("app.feed.services.write.drop_heads", lambda *_: None)
            keeping.setattr("app.feed.services.load.dropped_before", lambda *_: frozenset())
            happened = live_through(app, seed, WHAT_ANY_LOG_SHOWS)
            whole = everything(database)
            logged = events_of(database)
        live_through(app, seed, WHAT_ANY_LOG_SHOWS)
        left = everything(database)
        for name, rows in whole.items():
            if name not in NAMED_AT_RANDOM:
                assert rows == left[name], (seed, name, happened)
        assert events_of(database) <= logged
        later = replace(database, clock=lambda: NOW + timedelta(days=30))
        prune(later, part_of(app, AuditKeys), part_of(app, Intake), NOW, actor=TESTER)
        reported: list[Difference] = []
        verify(database, reported.append)
        assert not reported, (seed, [str(each) for each in reported], happened)
        progress = everything(database)["chain_progress"]
        assert progress == whole["chain_progress"], (seed, happened)


@pytest.mark.parametrize("tried", seeds(5, many=400))
def test_pages_show_any_history(
    app: Flask, database: Database, snapshots: SnapshotSource, tried: range
) -> None:
    """Of all that is reported of a transfer, true or not: the public page, its JSON, and the operator's."""
    for seed in tried:
        forget_events(app)
        rng = random.Random(seed)
        n = rng.choice((1, 2, 3))
        reported = [each for each in of_transfer(n) if rng.random() < 0.7]
        feed(app, *SHARED, *rng.sample(reported, len(reported)))
        feed(app, *rng.sample(REORGS, rng.randrange(3)))
        for path in ("/transfer/", "/v2/getTransfer?key="):
            answer = app.test_client().get(f"{path}{transfer_id(n)}")
            assert answer.status_code == 200, (seed, answer.text)
        detail = transfer_detail(database, snapshots, TransferId(id_of(n)))
        shown = {line.event_id for stage in timeline_of(detail).stages for line in stage.events}
        assert shown == {event_id for stage in detail.stages for event_id in stage.event_ids}, seed
        assert reply_to_user(detail), seed


def events_of(database: Database) -> set[tuple[str, str]]:
    """Keys of what the log has, but for what operators retracted, which has other ids each time."""
    query = select(Event.subject, Event.event_id).where(Event.subject != OPERATORS)
    with reading(database.engine) as connection:
        return {(row.subject, row.event_id) for row in connection.execute(query)}


def read_to(app: Flask) -> dict[str, str]:
    """When the newest event of each chain happened, as look-ups show."""
    found = app.test_client().get("/v2/getTransfer?key=0x" + "ff" * 32).get_json()["read_to"]
    return {chain_id: reading["at"][11:19] for chain_id, reading in found.items()}


@pytest.mark.parametrize("wrong", ["a head", "a send"])
def test_read_to_ignores_retracted_events(app: Flask, audited: Audited, wrong: str) -> None:
    """A time that was wrong does not make a chain look fresh for good."""
    feed(
        app,
        sent(1, at=-100),
        event("chain.head", "a head", at=-10 if wrong == "a head" else -300, chain_id=1, block=5),
        sent(2, at=-20) | {"id": "a send"},
        about(3, "transfer.submitted", src_chain_id=3),
    )
    reported = [read_to(app)]
    for each in (wrong, "a head", "a send"):
        retract_ids(*audited, [each], "wrong", actor=TESTER)
        reported.append(read_to(app))
        replay(*audited, actor=TESTER)
        assert read_to(app) == reported[-1]
    before, first, *_, last = [each["1"] for each in reported]
    assert before == ("11:59:50" if wrong == "a head" else "11:59:40")
    assert first == ("11:59:40" if wrong == "a head" else "11:58:20")
    assert last == "11:58:20"


@st.composite
def some_events(draw: st.DrawFn) -> Events:
    return draw(st.lists(st.sampled_from(EVERYTHING), min_size=1, max_size=25, unique_by=repr))


@pytest.mark.every_database
@costly
@given(data=st.data())
def test_any_order_gives_the_same(app: Flask, data: st.DataObject) -> None:
    events = data.draw(some_events())
    one_way = data.draw(arrival(events))
    other_way = data.draw(arrival(events))
    assert answers_after(app, one_way) == answers_after(app, other_way)


@costly
@given(data=st.data())
def test_any_order_between_reorgs_gives_the_same(app: Flask, data: st.DataObject) -> None:
    first, second, third = (data.draw(some_events()) for _ in range(3))
    reorgs = [[[data.draw(st.sampled_from(REORGS))]] for _ in range(2)]

    def once() -> dict[str, list[tuple[Any, ...]]]:
        a, b, c = (data.draw(arrival(events)) for events in (first, second, third))
        return answers_after(app, a, reorgs[0], b, reorgs[1], c)

    assert once() == once()


def test_nearly_all_events_are_accepted(app: Flask) -> None:
    """In their own order: otherwise the tests above would compare refusals."""
    verdict = feed(app, *EVERYTHING)
    assert len(EVERYTHING) == verdict.accepted + verdict.repeated + len(verdict.refused)
    assert len(verdict.refused) <= 15


BURN: dict[str, Any] = {"kind": "burn", "symbol": "CELR"}


FROM_2: dict[str, Any] = BURN | {"src_chain_id": 2, "dst_chain_id": 1}


FROM_1: dict[str, Any] = BURN | {"src_chain_id": 1, "dst_chain_id": 2}


FAR = 60_000_000


FAILED = about(2, "transfer.failed", block=FAR)


READ: dict[str, tuple[Events, Events, dict[int, int | None]]] = {
    "a submission has no block of its chain": (
        [],
        [about(2, "transfer.submitted", at=-102, src_chain_id=1), FAILED, sent(2, block=100, **FROM_2)],
        {2: FAR},
    ),
    "sends from one chain to two": (
        [],
        [
            sent(2, at=-102, block=80),
            sent(2, at=-101, block=90, dst_chain_id=3),
            about(2, "transfer.delayed", block=FAR),
        ],
        {1: 90, 2: FAR},
    ),
    "what a reorganisation took back counts no more": (
        [sent(1, block=200), sent(3, block=190), event("chain.reorged", chain_id=1, from_block=150)],
        [sent(2, at=-102, block=80, **FROM_2), sent(2, at=-101, block=90, **FROM_1), FAILED],
        {1: 149, 2: FAR},
    ),
}


@pytest.mark.parametrize(("before", "reported", "read"), READ.values(), ids=READ)
def test_chains_are_read_as_far_in_any_order(
    app: Flask, before: Events, reported: Events, read: dict[int, int | None]
) -> None:
    """How far a chain was read decides which reorganisations are too deep to be believed."""
    for order in permutations(reported):
        found = answers_after(app, [before], [[each] for each in order])["chain_progress"]
        assert {row[0]: row[1] for row in found if row[1] is not None} == read, order
