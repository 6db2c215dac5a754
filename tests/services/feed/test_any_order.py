"""Any order, repetition and split into batches of the same events gives the same answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.models.engine import reading
from app.models.events import Event
from app.runtime.gateway import Gateway
from tests.services.feed.any_order import (
    EVERYTHING,
    REORGS,
    Events,
    answers_after,
    arrival,
)
from tests.services.feed.world import (
    feed,
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


def test_everything_is_taken_in_some_order(gateway: Gateway) -> None:
    """The pool of events is not refused away: nearly all of it is accepted in its own order."""
    verdict = feed(gateway, *EVERYTHING)
    assert len(EVERYTHING) == verdict.accepted + verdict.repeated + len(verdict.refused)
    assert len(verdict.refused) <= 15
    with reading(gateway.engine) as connection:
        assert connection.execute(Event.__table__.select()).all()
