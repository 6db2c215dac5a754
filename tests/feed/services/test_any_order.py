"""Any order, repetition and split into batches of the same events gives the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from app.db.database import Database
from app.db.engine import reading
from app.feed.projection import shared
from app.feed.queries import chains as chain_progress
from app.feed.services.retract import retract_ids
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited
from tests.feed.services.any_order import EVERYTHING, REORGS, Events, answers_after, arrival
from tests.feed.services.world import event, feed, projections, sent


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


def _blocks_read(database: Database) -> list[tuple[int, int | None]]:
    with reading(database.engine) as connection:
        return [row[:2] for row in projections(connection)["chain_progress"]]


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


def test_nearly_all_events_are_accepted(app: Flask) -> None:
    """In their own order: otherwise the tests above would compare refusals."""
    verdict = feed(app, *EVERYTHING)
    assert len(EVERYTHING) == verdict.accepted + verdict.repeated + len(verdict.refused)
    assert len(verdict.refused) <= 15
