"""What is kept: for how long, until which write, for whom who waits, and how much."""

from __future__ import annotations

import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.db.database import CachedReads
from app.db.writes import Writes
from tests.timer import Timer

ASKERS = 50


class Stopped(BaseException):
    """As GreenletExit and gevent's Timeout are: no error of what was read."""


@dataclass
class Source:
    """Answers 1, 2, 3 … and takes a second for each."""

    timer: Timer
    asked: int = 0
    seconds: float = 1.0

    def __call__(self) -> int:
        self.asked += 1
        answer = self.asked
        self.timer.now += self.seconds
        return answer


@dataclass
class Held:
    """Answers when it is let go, with what it is then told: a value, or an exception to raise."""

    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    let_go: threading.Event = field(default_factory=threading.Event)
    ends: list[Any] = field(default_factory=list)
    asked: int = 0

    def __call__(self) -> Any:
        self.asked += 1
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
def kept(timer: Timer, writes: Writes) -> CachedReads:
    """For ten seconds, at most three answers."""
    return CachedReads(10, writes, timer, most=3)


def test_answer_is_reused_until_too_old(kept: CachedReads, timer: Timer) -> None:
    source = Source(timer)
    assert kept.run_read("a", source) == (1, 1.0)  # its age counts from before it was asked for
    timer.now += 8.5
    assert kept.run_read("a", source) == (1, 9.5)
    timer.now += 0.5
    assert kept.run_read("a", source) == (2, 1.0)
    assert source.asked == 2


def test_with_the_age_0_everybody_reads(timer: Timer, writes: Writes) -> None:
    source = Source(timer, seconds=0)
    none_kept = CachedReads(0, writes, timer)
    assert [none_kept.run_read("a", source) for _ in range(3)] == [(1, 0), (2, 0), (3, 0)]


def test_each_question_has_its_answer(kept: CachedReads, timer: Timer) -> None:
    answers = {key: kept.run_read(key, lambda key=key: f"of {key}")[0] for key in "abc"}
    assert answers == {"a": "of a", "b": "of b", "c": "of c"}
    assert kept.run_read("b", lambda: "another")[0] == "of b"


def test_nothing_is_an_answer_as_well(kept: CachedReads, timer: Timer) -> None:
    asked: list[int] = []
    for _ in range(2):
        assert kept.run_read("a", lambda: asked.append(1))[0] is None
    assert len(asked) == 1


def test_own_write_drops_everything(kept: CachedReads, timer: Timer, writes: Writes) -> None:
    source = Source(timer)
    kept.run_read("a", source)
    writes.ended()
    assert kept.run_read("a", source)[0] == 2
    assert kept.run_read("a", source)[0] == 2


def test_read_during_a_write_is_not_kept(kept: CachedReads, timer: Timer, writes: Writes) -> None:
    source = Source(timer)

    def read() -> int:
        answer = source()
        writes.ended()
        return answer

    assert kept.run_read("a", read)[0] == 1
    assert kept.run_read("a", source)[0] == 2


def test_oldest_entry_goes_beyond_the_maximum(kept: CachedReads, timer: Timer) -> None:
    source = Source(timer, seconds=0)
    for key in ("a", "b", "c"):
        kept.run_read(key, source)
    timer.now += 10
    kept.run_read("a", source)  # read again: it is the newest now
    kept.run_read("d", source)
    assert len(kept._readings) == 3
    assert kept.run_read("a", source)[0] == 4
    assert kept.run_read("d", source)[0] == 5
    assert kept.run_read("b", source)[0] == 6


def waiting(kept: CachedReads, *, of: int) -> bool:
    """Whether so many wait for the one reading that is under way."""
    (reading,) = kept._readings.values()
    return len(reading.outcome._condition._waiters) >= of  # type: ignore[attr-defined]


def until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("did not happen")


def test_fifty_threads_ask_the_database_once(kept: CachedReads, timer: Timer) -> None:
    held = Held(ends=["answer"])
    with ThreadPoolExecutor(ASKERS) as pool:
        asked = [pool.submit(kept.run_read, "a", held) for _ in range(ASKERS)]
        held.entered.acquire()
        until(lambda: waiting(kept, of=ASKERS - 1))
        timer.now += 60  # they asked in time, however long it takes
        held.let_go.set()
        assert {each.result(20)[0] for each in asked} == {"answer"}
    assert held.asked == 1


def test_later_request_skips_read_before_write(kept: CachedReads, writes: Writes) -> None:
    held = Held(ends=["old"])
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(kept.run_read, "a", held)
        held.entered.acquire()
        writes.ended()
        assert pool.submit(kept.run_read, "a", lambda: "new").result(20)[0] == "new"
        held.let_go.set()
        assert early.result(20)[0] == "old"  # it was asked before
    assert kept.run_read("a", lambda: "unasked")[0] == "new"


def test_late_request_skips_slow_read(kept: CachedReads, timer: Timer) -> None:
    held = Held(ends=["old"])
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(kept.run_read, "a", held)
        held.entered.acquire()
        timer.now += 10
        assert pool.submit(kept.run_read, "a", lambda: "new").result(20)[0] == "new"
        held.let_go.set()
        assert early.result(20)[0] == "old"


def test_error_reaches_all_and_is_not_kept(kept: CachedReads) -> None:
    held = Held(ends=[ValueError("no")])
    with ThreadPoolExecutor(ASKERS) as pool:
        asked = [pool.submit(kept.run_read, "a", held) for _ in range(ASKERS)]
        held.entered.acquire()
        until(lambda: waiting(kept, of=ASKERS - 1))
        held.let_go.set()
        errors = [each.exception(20) for each in asked]
    assert held.asked == 1
    assert {(type(error), str(error)) for error in errors} == {(ValueError, "no")}
    assert len(traceback.extract_tb(errors[0].__traceback__)) < 20  # type: ignore[union-attr]  # of one, not of all
    assert kept._readings == {}
    assert kept.run_read("a", lambda: "answer")[0] == "answer"


def test_when_a_reader_is_stopped_another_reads(kept: CachedReads) -> None:
    held = Held(ends=[Stopped(), Stopped(), "answer"])
    with ThreadPoolExecutor(ASKERS) as pool:
        asked = [pool.submit(kept.run_read, "a", held) for _ in range(ASKERS)]
        held.entered.acquire()
        until(lambda: waiting(kept, of=ASKERS - 1))
        held.let_go.set()
        ends = [each.exception(20) or each.result()[0] for each in asked]
    assert sorted(type(end).__name__ for end in ends) == ["Stopped"] * 2 + ["str"] * (ASKERS - 2)
    assert held.asked == 3


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import gevent
from gevent.event import Event
from app.db.writes import Writes
from app.db.database import CachedReads

asked, let_go, kept = [], Event(), CachedReads(100, Writes())

def read():
    asked.append(1)
    let_go.wait()
    return len(asked)

def in_time():
    with gevent.Timeout(0.05):
        kept.run_read("b", read)

with gevent.Timeout(30):
    asking = [gevent.spawn(kept.run_read, "a", read) for _ in range(50)]
    gevent.idle()
    assert len(asked) == 1, asked
    asking[0].kill()  # the reader: another of them reads
    gevent.idle()
    assert len(asked) == 2, asked
    let_go.set()
    gevent.joinall(asking)
    assert {each.value[0] for each in asking[1:]} == {2}

    let_go.clear()
    asking = [gevent.spawn(in_time), *(gevent.spawn(kept.run_read, "b", read) for _ in range(49))]
    asking[0].join()  # the reader, whose request has no time left
    assert isinstance(asking[0].exception, gevent.Timeout)
    let_go.set()
    gevent.joinall(asking)
    assert {each.value[0] for each in asking[1:]} == {4}
print("well")
"""


@pytest.mark.slow
def test_fifty_greenlets_request_once() -> None:
    """One that is killed stops no other."""
    command = [sys.executable, "-c", GREENLETS]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "well\n", ran.stderr
