"""Any order, repetition and split into batches of the same events gives the same answers."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models.engine import reading
from app.models.events import Event
from app.runtime.gateway import Gateway
from app.services.feed.replay import replay
from tests.actors import TESTER
from tests.services.feed.any_order import (
    EVERYTHING,
    REORGS,
    Events,
    answers_after,
    arrival,
)
from tests.services.feed.world import (
    about,
    event,
    feed,
    projections,
    sent,
)
from tests.volume import volume


@st.composite
def some_events(draw: st.DrawFn) -> Events:
    return draw(st.lists(st.sampled_from(EVERYTHING), min_size=1, max_size=25, unique_by=repr))


@settings(max_examples=volume(120, 12))
@given(data=st.data())
def test_without_reorgs(gateway: Gateway, data: st.DataObject) -> None:
    events = data.draw(some_events())
    one_way = data.draw(arrival(events))
    other_way = data.draw(arrival(events))
    assert answers_after(gateway, one_way) == answers_after(gateway, other_way)


@settings(max_examples=volume(80, 8))
@given(data=st.data())
def test_between_two_reorgs(gateway: Gateway, data: st.DataObject) -> None:
    first, second, third = (data.draw(some_events()) for _ in range(3))
    reorgs = [[[data.draw(st.sampled_from(REORGS))]] for _ in range(2)]

    def once() -> dict[str, list[tuple[Any, ...]]]:
        a, b, c = (data.draw(arrival(events)) for events in (first, second, third))
        return answers_after(gateway, a, reorgs[0], b, reorgs[1], c)

    assert once() == once()


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_chain_that_a_submission_alone_names_is_not_read_by_it(
    gateway: Gateway, order: tuple[int, ...]
) -> None:
    """How far a chain was read says which reorganisations are too deep to be believed."""
    told = [
        about(2, "transfer.submitted", at=-102, src_chain_id=1),
        about(2, "transfer.failed", block=60_000_000),
        sent(2, block=100, kind="burn", src_chain_id=2, dst_chain_id=1, symbol="CELR"),
    ]
    found = answers_after(gateway, [[told[number]] for number in order])
    assert [row[:2] for row in found["chain_progress"]] == [(2, 60_000_000)]


def test_nor_after_a_replay(gateway: Gateway) -> None:
    told = [
        event("chain.head", chain_id=1, block=120),
        about(2, "transfer.submitted", at=-102, src_chain_id=1),
        about(2, "transfer.failed", block=60_000_000),
    ]
    before = answers_after(gateway, [told])
    assert [row[:2] for row in before["chain_progress"]] == [(1, 120)]
    replay(gateway, actor=TESTER)
    with reading(gateway.engine) as connection:
        assert projections(connection) == before


def test_everything_is_taken_in_some_order(gateway: Gateway) -> None:
    """The pool of events is not refused away: nearly all of it is accepted in its own order."""
    verdict = feed(gateway, *EVERYTHING)
    assert len(EVERYTHING) == verdict.accepted + verdict.repeated + len(verdict.refused)
    assert len(verdict.refused) <= 15
    with reading(gateway.engine) as connection:
        assert connection.execute(Event.__table__.select()).all()
