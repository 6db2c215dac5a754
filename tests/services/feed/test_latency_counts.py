"""Latency counts always equal a recount from the records, and medians what sorting the records gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.domain.transfer import kept_middle
from app.domain.transfer.kept_middle import ROOM, SLACK
from app.domain.transfer.latency import FINE, WIDE, median_seconds, window
from app.models.engine import reading, writing
from app.models.latencies import LatencyCount, LatencyMiddle, LatencyWindow
from app.models.transfers import LatencyRecord
from app.queries.latency import around
from app.queries.latency.middle import middle_latencies
from app.runtime.gateway import Gateway
from app.services.feed.latencies import forget_counts, recount
from app.services.feed.replay import replay
from app.services.feed.retract import retract_ids
from tests.actors import TESTER
from tests.services.feed.world import NOW, event, feed, released, sent
from tests.volume import volume

WEEK = 7 * 86_400
MOMENTS = st.integers(-2 * WEEK, 0) | st.sampled_from([-WEEK - 10, -WEEK - 1, -WEEK, -WEEK + 1, -1, 0])
"""Seconds after NOW at which a transfer is released, now and then at the very edge of the window."""

SECONDS = st.sampled_from([0.0, 0.000001, 0.524287, 0.524288, 33.0, 33.554431, 33.554432, 200.5]) | st.floats(
    0, 3000
).map(lambda seconds: round(seconds, 6))

ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("complete"), st.integers(1, 6), MOMENTS, SECONDS),
        st.tuples(st.just("retract"), st.integers(1, 6)),
        st.tuples(st.just("reorg"), st.integers(95, 106)),
        st.tuples(st.just("wait"), st.sampled_from([1, 10, 3600, WEEK // 2])),
        st.tuples(st.just("replay")),
        st.tuples(st.just("forget")),
    ),
    min_size=1,
    max_size=12,
)


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


@given(acts=ACTS, room=st.sampled_from([1, 2, ROOM]))
@settings(max_examples=volume(25))
def test_counts_are_right_after_whatever_happens(
    gateway: Gateway, acts: list[tuple[Any, ...]], room: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (kept_middle, around):
            patch.setattr(module, "ROOM", room)
        patch.setattr(kept_middle, "SLACK", min(room, SLACK))
        act_and_compare(gateway, acts)


def act_and_compare(gateway: Gateway, acts: list[tuple[Any, ...]]) -> None:
    now, told = NOW, set[str]()
    with writing(gateway.engine) as connection:
        forget_counts(connection)
    for act in acts:
        gateway = replace(gateway, clock=lambda moment=now: moment)
        match act:
            case ("complete", n, at, seconds):
                send, release = sent(n, at - seconds, block=100 + n), released(n, at)
                feed(gateway, send, release)
                told |= {send["id"], release["id"]}
            case ("retract", n):
                if len(told) > n:
                    retract_ids(gateway, sorted(told)[n - 1 : n + 1], "wrong", actor=TESTER)
            case ("reorg", block):
                feed(gateway, event("chain.reorged", at=-1, chain_id=1, from_block=block))
            case ("wait", seconds):
                now += timedelta(seconds=seconds)
                later = replace(gateway, clock=lambda moment=now: moment)
                feed(later, event("chain.head", at=0, chain_id=1, block=1))
            case ("replay",):
                replay(gateway, actor=TESTER)
            case ("forget",):
                with writing(gateway.engine) as connection:
                    forget_counts(connection)
        assert counts(gateway) == recounted(gateway)
        assert_middles(gateway)
        assert_median(gateway, now)


def test_a_recount_finds_what_is_there(gateway: Gateway) -> None:
    for n in range(1, 6):
        feed(gateway, sent(n, at=-100 - n), released(n))
    before = counts(gateway)
    assert sum(before.values()) == 10
    with writing(gateway.engine) as connection:
        recount(connection, NOW)
    assert counts(gateway) == before == recounted(gateway)


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
