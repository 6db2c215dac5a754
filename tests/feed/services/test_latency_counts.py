"""Latency counts always equal a recount from the records, and medians what sorting the records gives."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from statistics import median
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import NothingToRetract, retract_ids
from app.http.application import part_of
from app.latency.models import WIDTHS, LatencyCount, LatencyRecord, LatencyWindow
from app.latency.queries import twice_median
from app.latency.rules.median import window
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited, audited_of, change_part
from tests.feed.services.world import NOW, event, feed, released, sent

WEEK = 7 * 86_400
MOMENTS = st.integers(-2 * WEEK, 0) | st.sampled_from([-WEEK - 10, -WEEK - 1, -WEEK, -WEEK + 1, -1, 0])
"""Seconds after NOW at which a transfer is released, now and then at the very edge of the window."""

SECONDS = st.sampled_from([0.0, 0.000001, 0.524287, 0.524288, 33.0, 33.554431, 33.554432, 200.5]) | st.floats(
    0, 3000
).map(lambda seconds: round(seconds, 6))

ACT = st.one_of(
    st.tuples(st.just("complete"), st.integers(1, 6), MOMENTS, SECONDS),
    st.tuples(st.just("retract"), st.integers(1, 6)),
    st.tuples(st.just("reorg"), st.integers(95, 106)),
    st.tuples(st.just("wait"), st.sampled_from([1, 10, 3600, WEEK // 2])),
    st.tuples(st.just("silence"), st.sampled_from([1, 10, 3600, WEEK // 2])),
    st.tuples(st.just("prune")),
    st.tuples(st.just("replay")),
    st.tuples(st.just("forget")),
)


def counts(database: Database) -> dict[tuple[int, int, int, int], int]:
    with reading(database.engine) as connection:
        rows = connection.execute(select(LatencyCount.__table__)).all()
    return {tuple(row[:4]): row[4] for row in rows}


def recounted(database: Database) -> dict[tuple[int, int, int, int], int]:
    """What the counts must be, from only the records."""
    with reading(database.engine) as connection:
        since = connection.scalar(select(LatencyWindow.since))
        records = connection.execute(select(LatencyRecord.__table__)).all()
    expected: dict[tuple[int, int, int, int], int] = {}
    for record in records:
        if since is not None and record.released_at > since:
            for width in WIDTHS:
                key = record.src_chain_id, record.dst_chain_id, width, record.latency_us >> width
                expected[key] = expected.get(key, 0) + 1
    return expected


def assert_median(database: Database, now: datetime) -> None:
    """As sorting finds it, also for a clock that is behind or ahead of the one that the counts followed."""
    with reading(database.engine) as connection:
        records = connection.execute(select(LatencyRecord.__table__)).all()
        for drift in (timedelta(0), timedelta(seconds=-30), timedelta(days=3), timedelta(days=-8)):
            after, until = window(now + drift)
            inside = [r.latency_us for r in records if after < r.released_at <= until]
            twice = twice_median(connection, ChainId(1), ChainId(2), after, until)
            assert twice == (2 * median(inside) if inside else None)


@pytest.mark.every_database
@given(acts=st.lists(ACT, min_size=1, max_size=12))
@costly
def test_counts_match_records_after_any_history(app: Flask, acts: list[tuple[Any, ...]]) -> None:
    stage = Stage(app)
    for act in acts:
        stage.play(act)
        compare(stage)


def forget(database: Database) -> None:
    """Count nothing, as after something else than the feed has written."""
    with writing(database.engine) as connection:
        connection.execute(delete(LatencyWindow))
        connection.execute(delete(LatencyCount))


class Stage:
    """A gateway where one thing happens after the other, from nothing counted on."""

    def __init__(self, app: Flask) -> None:
        self.app, self.now = app, NOW
        self._told: set[str] = set()
        forget(part_of(app, Database))

    def play(self, act: tuple[Any, ...]) -> None:
        """Let it happen, at the time that has come."""
        change_part(self.app, Database, clock=lambda: self.now)
        match act:
            case ("complete", n, at, seconds):
                send, release = sent(n, at - seconds, block=100 + n), released(n, at)
                feed(self.app, send, release)
                self._told |= {send["id"], release["id"]}
            case ("retract", n):
                if len(self._told) > n:
                    with suppress(NothingToRetract):  # of what was pruned
                        retract_ids(
                            *audited_of(self.app), sorted(self._told)[n - 1 : n + 1], "wrong", actor=TESTER
                        )
            case ("reorg", block):
                feed(self.app, event("chain.reorged", at=-1, chain_id=1, from_block=block))
            case ("wait", seconds):
                self.now += timedelta(seconds=seconds)
                feed(self.app, event("chain.head", at=0, chain_id=1, block=1))
            case ("silence", seconds):
                self.now += timedelta(seconds=seconds)
            case ("prune",):
                prune(*audited_of(self.app), part_of(self.app, Intake), self.now, actor=TESTER)
            case ("replay",):
                replay(*audited_of(self.app), actor=TESTER)
            case ("forget",):
                forget(part_of(self.app, Database))


def compare(stage: Stage) -> None:
    database = part_of(stage.app, Database)
    assert counts(database) == recounted(database)
    assert_median(database, stage.now)


@pytest.mark.parametrize("wrong", [delete(LatencyCount), update(LatencyCount).values(n=-7)])
def test_replay_repairs_wrong_latency_counts(
    app: Flask, database: Database, audited: Audited, wrong: Any
) -> None:
    """Wrong counts stop neither reports nor the replay that repairs them."""
    feed(app, *(each for n in (1, 2, 3) for each in (sent(n, at=-100 - n), released(n, block=200 + n))))
    with writing(database.engine) as connection:
        connection.execute(wrong)
    assert feed(app, event("chain.reorged", chain_id=2, from_block=203)).accepted == 1
    replay(*audited, actor=TESTER)
    assert counts(database) == recounted(database)
    assert sum(counts(database).values()) == 4
    assert_median(database, database.clock())
