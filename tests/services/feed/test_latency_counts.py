"""Latency counts always equal a recount from the records, and medians what sorting the records gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, select, update

from app.domain.transfer import kept_middle
from app.domain.transfer.kept_middle import ROOM, SLACK
from app.domain.transfer.latency import FINE, WIDE, median_seconds, window
from app.models.engine import reading, writing
from app.models.latencies import MIDDLES_ARE_RIGHT, LatencyCount, LatencyMiddle, LatencyWindow
from app.models.transfers import LatencyRecord, Transfer
from app.queries.latency import around
from app.queries.latency.middle import middle_latencies
from app.runtime.gateway import Gateway
from app.services.feed.latency import counts as latencies
from app.services.feed.prune import prune
from app.services.feed.replay import replay
from app.services.feed.retract import NothingToRetract, retract_ids
from tests.actors import TESTER
from tests.everyday import volume
from tests.services.feed.world import NOW, event, feed, released, sent

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
ROOMS = st.sampled_from([1, 2, ROOM])


def counts(gateway: Gateway) -> dict[tuple[int, int, int, int], int]:
    with reading(gateway.engine) as connection:
        rows = connection.execute(select(LatencyCount.__table__)).all()
    return {tuple(row[:4]): row[4] for row in rows}


def recounted(gateway: Gateway) -> dict[tuple[int, int, int, int], int]:
    """What the counts must be, from the records alone."""
    with reading(gateway.engine) as connection:
        since = connection.scalar(select(LatencyWindow.since))
        records = connection.execute(select(LatencyRecord.__table__)).all()
    expected: dict[tuple[int, int, int, int], int] = {}
    for record in records:
        if since is not None and record.released_at > since:
            for width in (WIDE, FINE):
                key = record.src_chain_id, record.dst_chain_id, width, record.latency_us >> width
                expected[key] = expected.get(key, 0) + 1
    return expected


def assert_median(gateway: Gateway, now: datetime) -> None:
    """As sorting finds it, also for a clock that is behind or ahead of the one that the counts followed."""
    with reading(gateway.engine) as connection:
        records = connection.execute(select(LatencyRecord.__table__)).all()
        for drift in (timedelta(0), timedelta(seconds=-30), timedelta(days=3), timedelta(days=-8)):
            after, until = window(now + drift)
            inside = [r.latency_us for r in records if after < r.released_at <= until]
            middle = middle_latencies(connection, 1, 2, after, until)
            assert len(middle) == (2 - len(inside) % 2 if inside else 0)
            if middle:
                assert median_seconds(middle) == median(inside) / 10**6


def assert_middles(gateway: Gateway) -> None:
    """What is kept of each pair is so much of its counted records, sorted, as its row says."""
    with reading(gateway.engine) as connection:
        since = connection.scalar(select(LatencyWindow.since))
        middles = connection.execute(select(LatencyMiddle.__table__)).all()
        records = connection.execute(select(LatencyRecord.__table__)).all()
    counted = [
        (r.src_chain_id, r.dst_chain_id, r.latency_us) for r in records if since and r.released_at > since
    ]
    for m in middles:
        found = [us for src, dst, us in counted if (src, dst) == (m.src_chain_id, m.dst_chain_id)]
        assert m.below == sum(us < m.low for us in found)
        assert m.above == sum(us > m.high for us in found)
        inside = Counter(us for us in found if m.low <= us <= m.high)
        assert [tuple(each) for each in m.latencies] == sorted(inside.items())


@contextmanager
def keeping(room: int) -> Iterator[None]:
    """Middles with so many transfers on each side."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (kept_middle, around):
            patch.setattr(module, "ROOM", room)
        patch.setattr(kept_middle, "SLACK", min(room, SLACK))
        yield


@contextmanager
def an_earlier_release() -> Iterator[None]:
    """Processes that keep counts and know nothing of middles."""

    def forget(connection: Connection) -> None:
        connection.execute(delete(LatencyWindow))
        connection.execute(delete(LatencyCount))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latencies, "move_middles", lambda *_: None)
        patch.setattr(latencies, "make_middles", lambda *_: None)
        patch.setattr(latencies, "forget_counts", forget)
        yield


@given(acts=st.lists(ACT, min_size=1, max_size=12), room=ROOMS)
@settings(max_examples=volume(25))
def test_counts_are_right_after_whatever_happens(
    gateway: Gateway, acts: list[tuple[Any, ...]], room: int
) -> None:
    with keeping(room):
        stage = Stage(gateway)
        for act in acts:
            stage.play(act)
            compare(stage)
            assert middles_are_right(gateway) == counts_are_kept(gateway)


def old(*act: Any) -> tuple[bool, tuple[Any, ...]]:
    return True, act


def new(*act: Any) -> tuple[bool, tuple[Any, ...]]:
    return False, act


AN_OLD_AND_A_NEW = [new("complete", 1, 60 - WEEK, 5.0), new("complete", 2, -10, 7.0)]


@given(acts=st.lists(st.tuples(st.booleans(), ACT), min_size=1, max_size=16), room=ROOMS)
@example([new("complete", 1, -10, 5.0), old("complete", 2, -10, 7.0)], ROOM)
@example([new("complete", 1, -10, 5.0), old("retract", 1)], ROOM)
@example([new("complete", 1, -10, 5.0), old("reorg", 95)], ROOM)
@example([new("complete", 1, -10, 5.0), old("forget"), old("complete", 2, -10, 7.0)], ROOM)
@example([new("complete", 1, -10, 5.0), old("replay"), old("complete", 2, -10, 7.0)], ROOM)
@example([*AN_OLD_AND_A_NEW, old("wait", 3600)], ROOM)
@example([*AN_OLD_AND_A_NEW, new("silence", 3600), old("prune")], ROOM)
@settings(max_examples=volume(25))
def test_medians_are_right_while_an_earlier_release_writes_too(
    gateway: Gateway, acts: list[tuple[bool, tuple[Any, ...]]], room: int
) -> None:
    with keeping(room):
        stage = Stage(gateway)
        for is_old, act in acts:
            with an_earlier_release() if is_old else nullcontext():
                stage.play(act)
            compare(stage)
        stage.play(("wait", 10))
        compare(stage)
        assert middles_are_right(gateway), "made anew by the next release as soon as the window moves on"


def middles_are_right(gateway: Gateway) -> bool:
    with reading(gateway.engine) as connection:
        return bool(connection.scalar(select(MIDDLES_ARE_RIGHT)))


def counts_are_kept(gateway: Gateway) -> bool:
    with reading(gateway.engine) as connection:
        return connection.scalar(select(LatencyWindow.since)) is not None


class Stage:
    """A gateway where one thing happens after the other, from nothing counted on."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.now = gateway, NOW
        self._told: set[str] = set()
        with writing(gateway.engine) as connection:
            latencies.forget_counts(connection)

    def play(self, act: tuple[Any, ...]) -> None:
        """Let it happen, at the time that has come."""
        gateway = replace(self.gateway, clock=lambda: self.now)
        match act:
            case ("complete", n, at, seconds):
                send, release = sent(n, at - seconds, block=100 + n), released(n, at)
                feed(gateway, send, release)
                self._told |= {send["id"], release["id"]}
            case ("retract", n):
                if len(self._told) > n:
                    with suppress(NothingToRetract):  # of what was pruned
                        retract_ids(gateway, sorted(self._told)[n - 1 : n + 1], "wrong", actor=TESTER)
            case ("reorg", block):
                feed(gateway, event("chain.reorged", at=-1, chain_id=1, from_block=block))
            case ("wait", seconds):
                self.now += timedelta(seconds=seconds)
                feed(gateway, event("chain.head", at=0, chain_id=1, block=1))
            case ("silence", seconds):
                self.now += timedelta(seconds=seconds)
            case ("prune",):
                prune(gateway, self.now, actor=TESTER)
            case ("replay",):
                replay(gateway, actor=TESTER)
            case ("forget",):
                with writing(gateway.engine) as connection:
                    latencies.forget_counts(connection)


def compare(stage: Stage) -> None:
    assert counts(stage.gateway) == recounted(stage.gateway)
    if middles_are_right(stage.gateway):
        assert_middles(stage.gateway)
    assert_median(stage.gateway, stage.now)


def test_no_middle_is_trusted_once_a_record_has_changed(gateway: Gateway) -> None:
    feed(gateway, sent(1, at=-100), released(1))
    with reading(gateway.engine) as connection:
        row = connection.execute(select(LatencyRecord.__table__)).one()._asdict()
    for change in (
        update(LatencyRecord).values(latency_us=7),
        delete(LatencyRecord),
        insert(LatencyRecord).values(row),
    ):
        with writing(gateway.engine) as connection:
            latencies.recount(connection, NOW)
        assert middles_are_right(gateway)
        with writing(gateway.engine) as connection:
            connection.execute(change)
        assert not middles_are_right(gateway)


def test_a_recount_finds_what_is_there(gateway: Gateway) -> None:
    for n in range(1, 6):
        feed(gateway, sent(n, at=-100 - n), released(n))
    before = counts(gateway)
    assert sum(before.values()) == 10
    with writing(gateway.engine) as connection:
        latencies.recount(connection, NOW)
    assert counts(gateway) == before == recounted(gateway)


@pytest.mark.parametrize("wrong", [delete(LatencyCount), update(LatencyCount).values(n=-7)])
@pytest.mark.parametrize("by", ["the feed", "a repair", "time"])
def test_wrong_counts_stop_nothing(gateway: Gateway, wrong: Any, by: str) -> None:
    """Neither what is reported nor what repairs them: they are counted anew."""
    feed(gateway, *(each for n in (1, 2, 3) for each in (sent(n, at=-100 - n), released(n, block=200 + n))))
    with writing(gateway.engine) as connection:
        connection.execute(wrong)
        connection.execute(delete(LatencyMiddle))
        if by == "a repair":
            connection.execute(update(Transfer).values(symbol="another"))
        elif by == "time":
            connection.execute(update(LatencyWindow).values(middles_since=None))
    if by == "a repair":
        replay(gateway, actor=TESTER)
    elif by == "time":
        gateway = replace(gateway, clock=lambda: NOW + timedelta(seconds=30))
    assert feed(gateway, event("chain.reorged", chain_id=2, from_block=203)).accepted == 1
    assert counts(gateway) == recounted(gateway)
    assert sum(counts(gateway).values()) == 4
    assert_median(gateway, gateway.clock())


def test_what_leaves_the_window_leaves_the_middle(gateway: Gateway) -> None:
    for n in range(1, 6):
        feed(gateway, sent(n, at=-3000 - n * n), released(n, at=-2000 + 200 * n))
    assert_middles(gateway)
    later = NOW + timedelta(days=7, seconds=-1500)  # two of five have left it
    feed(replace(gateway, clock=lambda: later), event("chain.head", at=0, chain_id=1, block=1))
    assert sum(counts(gateway).values()) == 6
    assert_middles(gateway)
    assert_median(gateway, later)


def test_what_leaves_the_window_is_counted_no_more(gateway: Gateway) -> None:
    feed(gateway, sent(1), released(1, at=-10))
    assert sum(counts(gateway).values()) == 2
    later = NOW + timedelta(days=7)
    feed(replace(gateway, clock=lambda: later), event("chain.head", at=0, chain_id=1, block=1))
    assert counts(gateway) == {}
    assert_middles(gateway)
    with reading(gateway.engine) as connection:
        assert connection.scalar(select(LatencyWindow.since)) == window(later)[0]
