"""What is cached: for how long, until which write, for which callers, and how much."""

from __future__ import annotations

import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from app.db.database import CachedReads
from app.db.writes import Writes
from tests.timer import Timer, eventually

CALLERS = 50


class Stopped(BaseException):
    """As GreenletExit and gevent's Timeout: no error of what was read."""


@dataclass
class Source:
    """Returns 1, 2, 3 … and takes a second for each."""

    timer: Timer
    reads: int = 0
    seconds: float = 1.0

    def __call__(self) -> int:
        self.reads += 1
        answer = self.reads
        self.timer.now += self.seconds
        return answer


@dataclass
class Held:
    """Waits until it is let go, and ends with the next of ``ends``: a value, or an exception to raise."""

    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    let_go: threading.Event = field(default_factory=threading.Event)
    ends: list[Any] = field(default_factory=list)
    reads: int = 0

    def __call__(self) -> Any:
        self.reads += 1
        end = self.ends.pop(0)
        self.entered.release()
        assert self.let_go.wait(20)
        if isinstance(end, BaseException):
            raise end
        return end


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def writes() -> Writes:
    return Writes()


@pytest.fixture
def cache(timer: Timer, writes: Writes) -> CachedReads:
    """For ten seconds, at most three answers."""
    return CachedReads(10, writes, timer, most=3)


def test_answer_is_reused_until_too_old(cache: CachedReads, timer: Timer) -> None:
    source = Source(timer)
    assert cache.run_read("a", source) == (1, 1.0)  # its age counts from before the read
    timer.now += 8.5
    assert cache.run_read("a", source) == (1, 9.5)
    timer.now += 0.5
    assert cache.run_read("a", source) == (2, 1.0)
    assert source.reads == 2


def test_age_0_reads_each_time(timer: Timer, writes: Writes) -> None:
    source = Source(timer, seconds=0)
    uncached = CachedReads(0, writes, timer)
    assert [uncached.run_read("a", source) for _ in range(3)] == [(1, 0), (2, 0), (3, 0)]


def test_cache_stores_one_answer_for_each_key(cache: CachedReads, timer: Timer) -> None:
    answers = {key: cache.run_read(key, partial("of {}".format, key))[0] for key in "abc"}
    assert answers == {"a": "of a", "b": "of b", "c": "of c"}
    assert cache.run_read("b", lambda: "another")[0] == "of b"


def test_none_is_cached_as_well(cache: CachedReads, timer: Timer) -> None:
    reads: list[int] = []
    for _ in range(2):
        assert cache.run_read("a", lambda: reads.append(1))[0] is None
    assert len(reads) == 1


def test_own_write_drops_everything(cache: CachedReads, timer: Timer, writes: Writes) -> None:
    source = Source(timer)
    cache.run_read("a", source)
    writes.ended()
    assert cache.run_read("a", source)[0] == 2
    assert cache.run_read("a", source)[0] == 2


def test_read_during_a_write_is_not_cached(cache: CachedReads, timer: Timer, writes: Writes) -> None:
    source = Source(timer)

    def read() -> int:
        answer = source()
        writes.ended()
        return answer

    assert cache.run_read("a", read)[0] == 1
    assert cache.run_read("a", source)[0] == 2


def test_oldest_entry_is_dropped_beyond_maximum(cache: CachedReads, timer: Timer) -> None:
    source = Source(timer, seconds=0)
    for key in ("a", "b", "c"):
        cache.run_read(key, source)
    timer.now += 10
    cache.run_read("a", source)  # read again: it is the newest now
    cache.run_read("d", source)
    assert len(cache._readings) == 3
    assert cache.run_read("a", source)[0] == 4
    assert cache.run_read("d", source)[0] == 5
    assert cache.run_read("b", source)[0] == 6


def waiting(cache: CachedReads, *, of: int) -> bool:
    """Whether so many wait for the one reading that is under way."""
    (reading,) = cache._readings.values()
    return len(reading.outcome._condition._waiters) >= of  # type: ignore[attr-defined]


def test_fifty_threads_read_once(cache: CachedReads, timer: Timer) -> None:
    held = Held(ends=["answer"])
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(cache.run_read, "a", held) for _ in range(CALLERS)]
        held.entered.acquire()
        eventually(lambda: waiting(cache, of=CALLERS - 1))
        timer.now += 60  # they called in time, however long it takes
        held.let_go.set()
        assert {each.result(20)[0] for each in calls} == {"answer"}
    assert held.reads == 1


def test_later_request_skips_read_before_write(cache: CachedReads, writes: Writes) -> None:
    held = Held(ends=["old"])
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(cache.run_read, "a", held)
        held.entered.acquire()
        writes.ended()
        assert pool.submit(cache.run_read, "a", lambda: "new").result(20)[0] == "new"
        held.let_go.set()
        assert early.result(20)[0] == "old"  # it called before
    assert cache.run_read("a", lambda: "unread")[0] == "new"


def test_late_request_skips_slow_read(cache: CachedReads, timer: Timer) -> None:
    held = Held(ends=["old"])
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(cache.run_read, "a", held)
        held.entered.acquire()
        timer.now += 10
        assert pool.submit(cache.run_read, "a", lambda: "new").result(20)[0] == "new"
        held.let_go.set()
        assert early.result(20)[0] == "old"


def test_cache_shares_error_but_does_not_store_it(cache: CachedReads) -> None:
    held = Held(ends=[ValueError("no")])
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(cache.run_read, "a", held) for _ in range(CALLERS)]
        held.entered.acquire()
        eventually(lambda: waiting(cache, of=CALLERS - 1))
        held.let_go.set()
        errors = [each.exception(20) for each in calls]
    assert held.reads == 1
    assert {(type(error), str(error)) for error in errors} == {(ValueError, "no")}
    assert len(traceback.extract_tb(errors[0].__traceback__)) < 20  # type: ignore[union-attr]  # of one, not of all
    assert cache._readings == {}
    assert cache.run_read("a", lambda: "answer")[0] == "answer"


def test_another_reads_when_a_reader_is_stopped(cache: CachedReads) -> None:
    held = Held(ends=[Stopped(), Stopped(), "answer"])
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(cache.run_read, "a", held) for _ in range(CALLERS)]
        held.entered.acquire()
        eventually(lambda: waiting(cache, of=CALLERS - 1))
        held.let_go.set()
        ends = [each.exception(20) or each.result()[0] for each in calls]
    assert sorted(type(end).__name__ for end in ends) == ["Stopped"] * 2 + ["str"] * (CALLERS - 2)
    assert held.reads == 3


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import gevent
from gevent.event import Event
from app.db.writes import Writes
from app.db.database import CachedReads

reads, let_go, cache = [], Event(), CachedReads(100, Writes())

def read():
    reads.append(1)
    let_go.wait()
    return len(reads)

def in_time():
    with gevent.Timeout(0.05):
        cache.run_read("b", read)

with gevent.Timeout(30):
    calls = [gevent.spawn(cache.run_read, "a", read) for _ in range(50)]
    gevent.idle()
    assert len(reads) == 1, reads
    calls[0].kill()  # the reader: another of them reads
    gevent.idle()
    assert len(reads) == 2, reads
    let_go.set()
    gevent.joinall(calls)
    assert {each.value[0] for each in calls[1:]} == {2}

    let_go.clear()
    calls = [gevent.spawn(in_time), *(gevent.spawn(cache.run_read, "b", read) for _ in range(49))]
    calls[0].join()  # the reader, whose request has no time left
    assert isinstance(calls[0].exception, gevent.Timeout)
    let_go.set()
    gevent.joinall(calls)
    assert {each.value[0] for each in calls[1:]} == {4}
print("well")
"""


def test_fifty_greenlets_read_once() -> None:
    """One that is killed stops no other."""
    command = [sys.executable, "-c", GREENLETS]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "well\n", ran.stderr
