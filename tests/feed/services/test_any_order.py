"""Any order, repetition and split into batches of the same events gives the same answers."""

from __future__ import annotations

from contextlib import suppress
from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from app.db.database import Database
from app.db.engine import reading
from app.feed.projection import shared
from app.feed.queries import chains as chain_progress
from app.feed.services.reprojection import replay
from app.feed.services.retract import NothingToRetract, retract_ids
from app.transfers.models import Event
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited
from tests.feed.services.any_order import EVERYTHING, REORGS, Events, answers_after, arrival
from tests.feed.services.world import about, event, feed, projections, sent, state


@st.composite
def some_events(draw: st.DrawFn) -> Events:
    return draw(st.lists(st.sampled_from(EVERYTHING), min_size=1, max_size=25, unique_by=repr))


@costly
@given(data=st.data())
def test_without_reorgs(app: Flask, data: st.DataObject) -> None:
    events = data.draw(some_events())
    one_way = data.draw(arrival(events))
    other_way = data.draw(arrival(events))
    assert answers_after(app, one_way) == answers_after(app, other_way)


@costly
@given(data=st.data())
def test_between_two_reorgs(app: Flask, data: st.DataObject) -> None:
    first, second, third = (data.draw(some_events()) for _ in range(3))
    reorgs = [[[data.draw(st.sampled_from(REORGS))]] for _ in range(2)]

    def once() -> dict[str, list[tuple[Any, ...]]]:
        a, b, c = (data.draw(arrival(events)) for events in (first, second, third))
        return answers_after(app, a, reorgs[0], b, reorgs[1], c)

    assert once() == once()


@costly
@given(data=st.data())
def test_replay_finds_how_far_chains_were_read(
    app: Flask, database: Database, audited: Audited, data: st.DataObject
) -> None:
    """However often a chain went back, and whatever was retracted."""
    told = [data.draw(some_events()) for _ in range(3)]
    back = [data.draw(st.sampled_from(REORGS)) for _ in range(2)]
    a, b, c = (data.draw(arrival(events)) for events in told)
    answers_after(app, a, [[back[0]]], b, [[back[1]]], c)
    wrong = data.draw(st.lists(st.sampled_from([e for events in (*told, back) for e in events]), max_size=3))
    for each in wrong:
        with suppress(NothingToRetract):
            retract_ids(*audited, [each["id"]], "wrong", actor=TESTER)
    before = _blocks_read(database)
    replay(*audited, actor=TESTER)
    assert _blocks_read(database) == before


def _blocks_read(database: Database) -> list[tuple[int, int | None]]:
    with reading(database.engine) as connection:
        return [row[:2] for row in projections(connection)["chain_progress"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_submission_does_not_mark_chain_read(app: Flask, order: tuple[int, ...]) -> None:
    """How far a chain was read says which reorganisations are too deep to be believed."""
    told = [
        about(2, "transfer.submitted", at=-102, src_chain_id=1),
        about(2, "transfer.failed", block=60_000_000),
        sent(2, block=100, kind="burn", src_chain_id=2, dst_chain_id=1, symbol="CELR"),
    ]
    found = answers_after(app, [[told[number]] for number in order])
    assert [row[:2] for row in found["chain_progress"]] == [(2, 60_000_000)]


def test_nor_after_a_replay(app: Flask, database: Database, audited: Audited) -> None:
    told = [
        event("chain.head", chain_id=1, block=120),
        about(2, "transfer.submitted", at=-102, src_chain_id=1),
        about(2, "transfer.failed", block=60_000_000),
    ]
    before = answers_after(app, [told])
    assert [row[:2] for row in before["chain_progress"]] == [(1, 120)]
    replay(*audited, actor=TESTER)
    assert state(database) == before


BURN = {"kind": "burn", "symbol": "CELR"}
FIRST, SECOND = ({**BURN, "src_chain_id": a, "dst_chain_id": 3 - a} for a in (2, 1))


@pytest.mark.parametrize("order", list(permutations(range(5))))
def test_conflicting_sends_read_no_chain_too_far(app: Flask, order: tuple[int, ...]) -> None:
    told = [
        sent(2, at=-102, block=80, **FIRST),
        sent(2, at=-101, block=90, **SECOND),
        about(2, "transfer.failed", block=60_000_000),
        sent(3, block=95, **SECOND),
        event("chain.head", chain_id=1, block=80),
    ]
    found = answers_after(app, [[told[number]] for number in order])
    assert [row[:2] for row in found["chain_progress"]] == [(1, 95), (2, 60_000_000)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(
    ("chains", "event_type", "read"),
    [
        (((1, 2), (1, 3)), "transfer.delayed", {1: 90, 2: 60_000_000}),
        (((1, 3), (2, 3)), "transfer.failed", {1: 60_000_000, 2: 90}),
    ],
)
def test_sends_sharing_chain_read_none_too_far(
    app: Flask,
    chains: tuple[tuple[int, int], ...],
    event_type: str,
    read: dict[int, int],
    order: tuple[int, ...],
) -> None:
    told = [
        sent(2, at=at, block=block, src_chain_id=source, dst_chain_id=destination)
        for at, block, (source, destination) in zip((-102, -101), (80, 90), chains, strict=True)
    ]
    told.append(about(2, event_type, block=60_000_000))
    found = answers_after(app, [[told[number]] for number in order])
    assert {row[0]: row[1] for row in found["chain_progress"] if row[1] is not None} == read


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_nor_after_a_reorg(app: Flask, order: tuple[int, ...]) -> None:
    """What the reorg took back counts no more, however much of it is above."""
    before = [sent(1, block=200), sent(3, block=190), event("chain.reorged", chain_id=1, from_block=150)]
    told = [
        sent(2, at=-102, block=80, **FIRST),
        sent(2, at=-101, block=90, **SECOND),
        about(2, "transfer.failed", block=60_000_000),
    ]
    found = answers_after(app, [before], [[told[number]] for number in order])
    assert [row[:2] for row in found["chain_progress"]] == [(1, 149), (2, 60_000_000)]


def test_everything_taken_by_reorg_is_skipped(
    app: Flask, database: Database, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (shared, chain_progress):
        monkeypatch.setattr(module, "HEADS", 1)
    taken_back = [sent(n, block=200 + n) for n in (4, 5, 6)]
    reorg = event("chain.reorged", chain_id=1, from_block=150)
    wrong = sent(7, block=60_000_000)
    feed(app, *taken_back, reorg, sent(1, block=160), sent(3, block=155), wrong)
    retract_ids(*audited, [wrong["id"]], "wrong", actor=TESTER)
    assert _blocks_read(database) == [(1, 160)]


def test_everything_is_taken_in_some_order(app: Flask, database: Database) -> None:
    """The pool of events is not refused away: nearly all of it is accepted in its own order."""
    verdict = feed(app, *EVERYTHING)
    assert len(EVERYTHING) == verdict.accepted + verdict.repeated + len(verdict.refused)
    assert len(verdict.refused) <= 15
    with reading(database.engine) as connection:
        assert connection.execute(Event.__table__.select()).all()
