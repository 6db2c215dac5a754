"""Many validator sets at once: each is projected once, and nobody waits for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event as sql_event
from sqlalchemy import select

from app.console.network.validators import validator_sets
from app.db.database import Database
from app.db.engine import reading
from app.feed.services import ingest
from app.feed.services.reprojection import replay
from app.network.models import ReportedValidatorSet
from app.transfers.models import Anomaly
from app.transfers.rules.events import bounds
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import feed, forget_events, projections, rotation, sent, state
from tests.feed.views.kit import post, verdict


@contextmanager
def work(database: Database) -> Iterator[Counter[str]]:
    """How many statements of each kind are run, those for each row counted as often, and transactions."""
    done: Counter[str] = Counter()

    def note(_1: Any, _2: Any, statement: str, parameters: Any, _3: Any, many: bool) -> None:
        verb = statement.split(None, 1)[0]
        done[verb] += len(parameters) if many else 1

    def begin(_connection: Any) -> None:
        done["transactions"] += 1

    sql_event.listen(database.feed, "before_cursor_execute", note)
    sql_event.listen(database.feed, "begin", begin)
    try:
        yield done
    finally:
        sql_event.remove(database.feed, "before_cursor_execute", note)
        sql_event.remove(database.feed, "begin", begin)


def rotations(first: int, count: int) -> list[dict[str, Any]]:
    """Sets in the chain's order, each of which has no member of the one before: an anomaly each."""
    return [rotation(f"r{n}", n % 2, -500, block=n) for n in range(first, first + count)]


def told_of(database: Database) -> tuple[int | None, int]:
    """How many sets are canonical, and how many anomalies there are about them."""
    with reading(database.engine) as connection:
        version = connection.scalar(select(ReportedValidatorSet.version))
        return version, len(connection.scalars(select(Anomaly.id)).all())


def test_large_batch_takes_same_statements(client: FlaskClient, database: Database) -> None:
    with work(database) as of_one:
        assert verdict(post(client, rotations(0, 1)))["accepted"] == 1
    with work(database) as of_many:
        assert verdict(post(client, rotations(1, 60)))["accepted"] == 60
    assert of_many["SELECT"] <= of_one["SELECT"] + 2
    assert of_many["UPDATE"] == of_many["DELETE"] == 0, "what is known is not written again"
    assert told_of(database) == (61, 61)


def test_lock_is_released_between_parts(
    client: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed stays where a later part fails, and is repeated when all of it is sent again."""
    reported = [each for n in range(4) for each in (rotation(f"r{n}", n, -9, block=n), sent(n))]
    monkeypatch.setattr(ingest, "HOLD_SECONDS", 0)
    with work(database) as done:
        assert verdict(post(client, reported))["accepted"] == 8
    assert done["transactions"] == 8
    monkeypatch.setattr(ingest, "HOLD_SECONDS", 60)
    with work(database) as done:
        assert verdict(post(client, reported))["repeated"] == 8
    assert done["transactions"] == 1


def test_token_bound_is_per_chain(client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_ROTATIONS", 5)
    taken = verdict(post(client, rotations(0, 4)))
    assert (taken["accepted"], taken["refused"]) == (4, [])
    taken = verdict(post(client, rotations(2, 5)))
    assert (taken["accepted"], taken["repeated"], len(taken["refused"])) == (1, 2, 2)
    assert taken["refused"][0]["reason"].startswith("type: this reporter may send at most 5")
    elsewhere = rotation("x", 0, -9) | {"chain_id": 2}
    assert verdict(post(client, [elsewhere]))["accepted"] == 1


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


@pytest.mark.every_database
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
