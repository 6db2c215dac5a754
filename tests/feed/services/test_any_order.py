"""Any order, repetition and split into batches of the same events gives the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from tests.amounts import costly
from tests.feed.services.any_order import EVERYTHING, REORGS, Events, answers_after, arrival
from tests.feed.services.world import feed


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
