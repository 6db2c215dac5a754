"""Medians are kept for a moment, and so is that there is none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.db.database import HINTS_MAX_AGE_SECONDS, CachedReads
from app.db.writes import Writes, writes_of
from app.latency.rules.median import WINDOW
from app.latency.services import latency_stats, median_latency
from app.transfers.rules.progress import UNKNOWN_TIMES, RouteTimes
from app.transfers.services.status import route_times
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.identifiers import ChainId
from tests.applications import OpenApp
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, feed, fill_network, released, sent
from tests.gateway import Gateway, gateway_of
from tests.timer import Timer

AGE = 1.0


@pytest.fixture
def timer() -> Timer:
    return Timer(0)


@pytest.fixture
def gateway(open_app: OpenApp, shared_database: SharedDatabase, timer: Timer) -> Gateway:
    """A process whose clock and whose memory go by the timer."""
    gateway = gateway_of(open_app())
    fill_network(shared_database, gateway.engine)
    kept_reads = CachedReads(AGE, writes_of(gateway.engine), timer)
    return gateway.but(clock=lambda: NOW + timedelta(seconds=timer.now), cached=kept_reads)


@pytest.fixture
def other(open_app: OpenApp, gateway: Gateway) -> Gateway:
    """Another process on the same database."""
    return gateway_of(open_app()).but(clock=gateway.clock)


def median(gateway: Gateway, src: int = 1, dst: int = 2) -> float | None:
    try:
        return median_latency(gateway.database, gateway.snapshots, ChainId(src), ChainId(dst))
    except GatewayError as error:
        assert error.reason is Reason.NO_LATENCY_DATA
        return None


def pay(gateway: Gateway, n: int, seconds: float) -> None:
    """Transfer ``n`` is paid out ten seconds ago, after so many seconds."""
    assert feed(gateway, sent(n, at=-10 - seconds), released(n, at=-10)).accepted == 2


def test_what_this_process_takes_counts_at_once(gateway: Gateway) -> None:
    assert median(gateway) is None
    pay(gateway, 1, 30)
    assert median(gateway) == 30
    pay(gateway, 2, 50)
    assert median(gateway) == 40


def test_other_process_counts_after_age(gateway: Gateway, other: Gateway, timer: Timer) -> None:
    assert median(gateway) is None
    pay(other, 1, 30)
    timer.now += AGE - 0.01
    assert median(gateway) is None  # that there is none is kept as well
    timer.now += 0.01
    assert median(gateway) == 30
    pay(other, 2, 50)
    assert (median(gateway), median(other)) == (30, 40)


def test_pairs_are_kept_apart(gateway: Gateway) -> None:
    pay(gateway, 1, 30)
    assert [median(gateway, *pair) for pair in ((1, 2), (2, 1), (1, 3), (1, 2))] == [30, None, None, 30]


def test_the_window_is_that_of_the_reading(gateway: Gateway, timer: Timer) -> None:
    pay(gateway, 1, 30)
    end = WINDOW.total_seconds() - 10  # from then on it is not in the last 7 days
    timer.now = end - 0.5
    assert median(gateway) == 30
    timer.now = end + 0.4
    assert median(gateway) == 30
    timer.now = end + 0.5
    assert median(gateway) is None


def figures(gateway: Gateway, symbol: str | None = None) -> tuple[int, float] | None:
    """How many count, and their 99th percentile."""
    try:
        found = latency_stats(gateway.database, gateway.snapshots, ChainId(1), ChainId(2), symbol)
    except GatewayError as error:
        assert error.reason is Reason.NO_LATENCY_DATA
        return None
    return found.count, found.p99


@pytest.mark.parametrize("symbol", [None, "USDT"])
def test_figures_are_kept_like_a_median(
    gateway: Gateway, other: Gateway, timer: Timer, symbol: str | None
) -> None:
    assert figures(gateway, symbol) is None
    pay(gateway, 1, 30)
    assert figures(gateway, symbol) == (1, 30)
    pay(other, 2, 50)
    timer.now += AGE - 0.01
    assert figures(gateway, symbol) == (1, 30)
    timer.now += 0.01
    assert figures(gateway, symbol) == (2, 50)


def test_hints_outlive_what_this_process_takes(gateway: Gateway, timer: Timer) -> None:
    gateway = gateway.but(hints=CachedReads(HINTS_MAX_AGE_SECONDS, Writes(), timer))
    assert route_times(gateway.database, ChainId(1), ChainId(2)) == UNKNOWN_TIMES
    pay(gateway, 1, 30)
    timer.now += HINTS_MAX_AGE_SECONDS - 0.01
    assert route_times(gateway.database, ChainId(1), ChainId(2)) == UNKNOWN_TIMES
    timer.now += 0.01
    assert route_times(gateway.database, ChainId(1), ChainId(2)) == RouteTimes(30, 30)
