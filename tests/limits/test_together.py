"""Counting in a Redis: the same as in memory, and together with every other process."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from app.http.limits import LimitStore, LimitUsage, limits_of
from tests.limits.redis_server import RedisServer


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.system)])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("redis_server").url) if request.param == "redis" else "memory://"


def usage(store: LimitStore, text: str, caller: str = "me") -> tuple[int, int, bool]:
    found = store.count(caller, limits_of(text))
    assert 1 <= found.reset_seconds <= 3600
    return found.limit, found.remaining, found.is_over


def test_requests_are_counted_down(url: str) -> None:
    requests = LimitStore(url)
    seen = [usage(requests, "3/hour") for _ in range(5)]
    assert seen == [(3, 2, False), (3, 1, False), (3, 0, False), (3, 0, True), (3, 0, True)]
    assert usage(requests, "3/hour", "another") == (3, 2, False)
    assert usage(requests, "3/minute") == (3, 2, False)


def test_tightest_limit_is_reported(url: str) -> None:
    requests, limits = LimitStore(url), "4/hour;3/minute"
    seen = [usage(requests, limits) for _ in range(4)]
    assert seen == [(3, 2, False), (3, 1, False), (3, 0, False), (3, 0, True)]
    assert usage(requests, "5/minute;3/hour", "another") == (3, 2, False)
    # What the shorter one refused did not count for the longer one.
    assert usage(requests, "4/hour") == (4, 0, False)


def test_window_ends(url: str) -> None:
    requests, limit = LimitStore(url), limits_of("2/second")
    assert not requests.count("me", limit).is_over
    began = time.monotonic()  # at the latest: the first one may take long, it connects
    assert [requests.count("me", limit).is_over for _ in range(2)] == [False, True]
    time.sleep(max(0.0, began + 1.05 - time.monotonic()))
    assert requests.count("me", limit) == LimitUsage(2, 1, 1, False)


def test_limit_reset_is_end_of_window(url: str) -> None:
    requests = LimitStore(url)
    assert requests.count("me", limits_of("2/hour")).reset_seconds in (3599, 3600)
    time.sleep(0.01)
    assert requests.count("me", limits_of("2/minute")).reset_seconds in (59, 60)


@pytest.mark.system
def test_counters_end_by_themselves(redis_server: RedisServer) -> None:
    requests = LimitStore(redis_server.url)
    requests.count("requests:198.51.100.7", limits_of("2/second;5/minute"))
    keys = {"gateway:requests:198.51.100.7:2/1": 1_000, "gateway:requests:198.51.100.7:5/60": 60_000}
    assert redis_server.do("DBSIZE") == len(keys)
    for key, most in keys.items():
        left = redis_server.do("PTTL", key)
        assert isinstance(left, int)
        assert most - 900 < left <= most
    # A counter without an end gets one again, with a whole window.
    redis_server.do("PERSIST", "gateway:requests:198.51.100.7:5/60")
    assert requests.count("requests:198.51.100.7", limits_of("5/minute")) == LimitUsage(5, 3, 60, False)
    assert redis_server.do("PTTL", "gateway:requests:198.51.100.7:5/60") != -1


@pytest.mark.system
def test_script_is_sent_once(redis_server: RedisServer) -> None:
    requests = LimitStore(redis_server.url)
    redis_server.do("SCRIPT", "FLUSH")
    redis_server.do("CONFIG", "RESETSTAT")
    for _ in range(3):
        requests.count("me", limits_of("9/hour"))
    info = redis_server.do("INFO", "commandstats")
    assert isinstance(info, dict)
    assert (info["cmdstat_eval"]["calls"], info["cmdstat_evalsha"]["calls"]) == (1, 3)


@pytest.mark.system
def test_exactly_the_limit_passes(redis_server: RedisServer) -> None:
    """Four processes' stores, eight threads on each."""
    together, limit = Barrier(32), limits_of("100/hour")
    stores = [LimitStore(redis_server.url) for _ in range(4)]

    def count_often(number: int) -> list[LimitUsage]:
        together.wait()
        return [stores[number % 4].count("me", limit) for _ in range(10)]

    with ThreadPoolExecutor(32) as threads:
        found = [each for several in threads.map(count_often, range(32)) for each in several]
    passed = [each for each in found if not each.is_over]
    assert sorted(each.remaining for each in passed) == list(range(100))
    assert len(found) == 320
    assert all(each.remaining == 0 for each in found if each.is_over)


def test_threads_lose_no_count_in_memory() -> None:
    together, limit, requests = Barrier(8), limits_of("100/hour"), LimitStore("memory://")

    def count_often(_: int) -> int:
        together.wait()
        return sum(not requests.count("me", limit).is_over for _ in range(50))

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(count_often, range(8))) == 100
