"""Medians are cached for a moment, and so is that there is none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Flask
from msgspec.structs import replace

from app.db.database import HINTS_MAX_AGE_SECONDS, CachedReads, Database
from app.db.writes import Writes, writes_of
from app.http.application import part_of
from app.latency.rules.median import WINDOW
from app.latency.services import latency_stats, median_latency
from app.network.snapshot import SnapshotSource
from app.transfers.rules.progress import UNKNOWN_TIMES, RouteTimes
from app.transfers.services.status import route_times
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.identifiers import ChainId
from tests.applications import OpenApp, change_part
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, feed, fill_network, released, sent
from tests.timer import Timer

AGE = 1.0


@pytest.fixture
def timer() -> Timer:
    return Timer(0)


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase, timer: Timer) -> Flask:
    """A process whose clock and whose memory go by the timer."""
    app = open_app(clock=lambda: NOW + timedelta(seconds=timer.now))
    engine = part_of(app, Database).engine
    fill_network(shared_database, engine)
    change_part(app, Database, cached=CachedReads(AGE, writes_of(engine), timer))
    return app


@pytest.fixture
def other(open_app: OpenApp, database: Database) -> Flask:
    """Another process on the same database."""
    return open_app(clock=database.clock)


def median(app: Flask, src: int = 1, dst: int = 2) -> float | None:
    try:
        return median_latency(
            part_of(app, Database), part_of(app, SnapshotSource), ChainId(src), ChainId(dst)
        )
    except GatewayError as error:
        assert error.reason is Reason.NO_LATENCY_DATA
        return None


def pay(app: Flask, n: int, seconds: float) -> None:
    """Transfer ``n`` is paid out ten seconds ago, after so many seconds."""
    assert feed(app, sent(n, at=-10 - seconds), released(n, at=-10)).accepted == 2


def test_other_process_counts_after_age(app: Flask, other: Flask, timer: Timer) -> None:
    assert median(app) is None
    pay(other, 1, 30)
    timer.now += AGE - 0.01
    assert median(app) is None  # that there is none is cached as well
    timer.now += 0.01
    assert median(app) == 30
    pay(other, 2, 50)
    assert (median(app), median(other)) == (30, 40)


def test_the_window_is_that_of_the_reading(app: Flask, timer: Timer) -> None:
    pay(app, 1, 30)
    end = WINDOW.total_seconds() - 10  # from then on it is not in the last 7 days
    timer.now = end - 0.5
    assert median(app) == 30
    timer.now = end + 0.4
    assert median(app) == 30
    timer.now = end + 0.5
    assert median(app) is None


def figures(app: Flask, symbol: str | None = None) -> tuple[int, float] | None:
    """How many count, and their 99th percentile."""
    try:
        found = latency_stats(
            part_of(app, Database), part_of(app, SnapshotSource), ChainId(1), ChainId(2), symbol
        )
    except GatewayError as error:
        assert error.reason is Reason.NO_LATENCY_DATA
        return None
    return found.count, found.p99


@pytest.mark.parametrize("symbol", [None, "USDT"])
def test_figures_are_cached_like_a_median(app: Flask, other: Flask, timer: Timer, symbol: str | None) -> None:
    assert figures(app, symbol) is None
    pay(app, 1, 30)
    assert figures(app, symbol) == (1, 30)
    pay(other, 2, 50)
    timer.now += AGE - 0.01
    assert figures(app, symbol) == (1, 30)
    timer.now += 0.01
    assert figures(app, symbol) == (2, 50)


def test_hints_outlive_what_this_process_takes(app: Flask, database: Database, timer: Timer) -> None:
    database = replace(database, hints=CachedReads(HINTS_MAX_AGE_SECONDS, Writes(), timer))
    assert route_times(database, ChainId(1), ChainId(2)) == UNKNOWN_TIMES
    pay(app, 1, 30)
    timer.now += HINTS_MAX_AGE_SECONDS - 0.01
    assert route_times(database, ChainId(1), ChainId(2)) == UNKNOWN_TIMES
    timer.now += 0.01
    assert route_times(database, ChainId(1), ChainId(2)) == RouteTimes(30, 30)
