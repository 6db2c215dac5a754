"""Which of a chain's reported validator sets is the latest: the chain's own order decides."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.console.network.validators import validator_sets
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.network.models import ReportedValidatorSet
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import feed, forget_events, projections, rotation, state

ORDERED: dict[str, list[dict[str, Any]]] = {
    "the log index, not the text of the id": [
        rotation("1:0xb:0xt:9", 0, -10, block=5, log_index=9),
        rotation("1:0xb:0xt:10", 1, -10, block=5, log_index=10),
    ],
    "a later block with an earlier time": [rotation("a", 0, -5, block=5), rotation("b", 1, -50, block=6)],
    "one with a block outranks one without": [rotation("c", 0, -1), rotation("d", 1, -500, block=0)],
    "a place in the block outranks none": [
        rotation("e", 0, -1, block=5),
        rotation("f", 1, -2, block=5, log_index=0),
    ],
    "then the time, then the id": [
        rotation("z", 0, -3, block=5, log_index=1),
        rotation("g", 1, -2, block=5, log_index=1),
        rotation("h", 2, -2, block=5, log_index=1),
    ],
}


@pytest.mark.parametrize("rotations", ORDERED.values(), ids=ORDERED)
def test_latest_set_counts_in_any_order(
    app: Flask, database: Database, audited: Audited, rotations: list[dict[str, Any]]
) -> None:
    found = []
    for order in permutations(rotations):
        forget_events(app)
        for each in order:
            feed(app, each)
        with reading(database.engine) as connection:
            assert connection.scalar(select(ReportedValidatorSet.event_id)) == rotations[-1]["id"]
            found.append(projections(connection))
    assert all(each == found[0] for each in found)
    replay(*audited, actor=TESTER)
    assert state(database) == found[0]
    shown = validator_sets(database, ChainId(1))
    assert [version.event_id for version in shown] == [
        *(each["id"] for each in reversed(rotations)),
        None,
    ]


def test_later_log_index_counts(app: Flask, database: Database) -> None:
    first, second = ORDERED["the log index, not the text of the id"]
    bare = [{name: value for name, value in each.items() if name != "log_index"} for each in (first, second)]
    feed(app, *bare)
    with reading(database.engine) as connection:
        assert connection.scalar(select(ReportedValidatorSet.event_id)) == first["id"]
    assert feed(app, first, second).repeated == 2
    with reading(database.engine) as connection:
        assert connection.scalar(select(ReportedValidatorSet.event_id)) == second["id"]
