"""A Redis that does not answer: each process counts for itself, soon, and returns to it later."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from signal import SIGCONT, SIGSTOP

import pytest

from app.http.limits import REST_SECONDS, TIMEOUT_SECONDS, LimitStore, LimitUsage, limits_of
from tests.limits.redis_server import RedisServer
from tests.timer import Timer

pytestmark = pytest.mark.system
LIMIT = limits_of("9/hour")


class Process:
    """The counts of one process of the gateway, with a clock of its own for its retries."""

    def __init__(self, url: str) -> None:
        self.timer = Timer()
        self.store = LimitStore(url, self.timer)

    def count(self) -> LimitUsage:
        return self.store.count("me", LIMIT)

    def remaining(self) -> int:
        return self.count().remaining


def freeze(server: RedisServer) -> None:
    server.signal(SIGSTOP)


def fill(server: RedisServer) -> None:
    server.do("CONFIG", "SET", "maxmemory", 1)


def lock(server: RedisServer) -> None:
    server.do("CONFIG", "SET", "requirepass", "hidden-word")
    server.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no", url=f"unix://:hidden-word@{server.socket}")


def thaw(server: RedisServer) -> None:
    server.signal(SIGCONT)


def make_room(server: RedisServer) -> None:
    server.do("CONFIG", "SET", "maxmemory", 0)


def unlock(server: RedisServer) -> None:
    server.do("CONFIG", "SET", "requirepass", "", url=f"unix://:hidden-word@{server.socket}")


Act = Callable[[RedisServer], None]


@pytest.mark.parametrize(
    ("breaks", "mends", "is_counted"),
    [
        pytest.param(freeze, thaw, True, id="frozen"),
        pytest.param(RedisServer.kill, RedisServer.start, False, id="stopped"),
        pytest.param(fill, make_room, True, id="full"),
        pytest.param(lock, unlock, True, id="locked"),
    ],
)
def test_processes_count_apart_until_return(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture, breaks: Act, mends: Act, is_counted: bool
) -> None:
    caplog.set_level(logging.INFO)
    one, other = Process(own_redis.url), Process(own_redis.url)
    assert (one.remaining(), other.remaining()) == (8, 7)
    breaks(own_redis)
    began = time.monotonic()
    assert [one.remaining() for _ in range(9)] == list(range(8, -1, -1)), "in this process only"
    assert one.count().is_over
    assert time.monotonic() < began + 4 * TIMEOUT_SECONDS, "one of them waited, and not each"
    assert other.remaining() == 8
    one.timer.now += REST_SECONDS - 0.01
    assert one.count().is_over
    one.timer.now += 0.01
    assert one.count().is_over, "it retried in vain"
    assert len(caplog.records) == 1, "logged once a minute"
    assert "this process counts for itself" in caplog.text
    mends(own_redis)
    one.timer.now += REST_SECONDS - 0.01
    assert one.count().is_over
    one.timer.now += 0.01
    back = one.count()
    assert not back.is_over
    # The three requests that it did not answer in time may have been counted all the same.
    assert back.remaining in (range(3, 7) if is_counted else (8,))
    assert [record.message for record in caplog.records][1:] == [
        "the store of limits is back: processes count together again"
    ]
    assert "hidden-word" not in caplog.text


def test_retry_delays_no_other_request(own_redis: RedisServer) -> None:
    process = Process(own_redis.url)
    process.count()
    freeze(own_redis)
    process.count()
    process.timer.now += REST_SECONDS
    names: list[str] = []
    shared = process.store._shared
    assert shared is not None

    def while_another_counts(name: str, limits: object) -> list[tuple[int, int]]:
        names.append(name)
        process.count()
        raise TimeoutError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "count", while_another_counts)
        process.count()
    assert len(names) == 1
    thaw(own_redis)


def test_closed_connections_are_opened_again(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    process = Process(redis_server.url)
    assert process.remaining() == 8
    redis_server.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert process.remaining() == 7
    redis_server.do("SCRIPT", "FLUSH")
    assert process.remaining() == 6
    assert not caplog.records


def test_description_names_the_store(own_redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    def described(url: str, processes: int = 2) -> str:
        return LimitStore(url).described(processes)

    assert "memory of 2 processes, each with the whole limit" in described("memory://")
    assert "memory of one process" in described("memory://", 1)
    assert described(own_redis.url) == f"are counted together in the Redis at {own_redis.socket}/0"
    assert own_redis.do("DBSIZE") == 0
    assert not caplog.records
    lock(own_redis)
    assert described(f"unix://:other-word@{own_redis.socket}").endswith(f"{own_redis.socket}/0")
    assert "RATE_LIMIT_STORAGE_URL: " in caplog.text
    assert described(f"unix://:hidden-word@{own_redis.socket}?db=3").endswith(f"{own_redis.socket}/3")
    assert len(caplog.records) == 1
    described("redis://gateway:hidden-word@127.0.0.1:1/2")
    assert "127.0.0.1:1" in caplog.text
    assert "-word" not in caplog.text
    assert described("redis://gateway:hidden-word@127.0.0.1:1/2").endswith("the Redis at 127.0.0.1:1/2")
