"""Any order, repetition and split into batches of the same events gives the same answers."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from tests.amounts import costly
from tests.feed.services.any_order import EVERYTHING, REORGS, Events, answers_after, arrival
from tests.feed.services.world import about, event, feed, sent


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
