"""Entries that are written some at a time: all of them, once, in their order, and soon."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from app.logs import batch
from app.logs.batch import MOST, TOGETHER, Batch

ENDS = """
import os, sys, time
from app.logs.batch import Batch

def write(entries):
    for entry in entries:
        os.write(1, f"{os.getpid() == first}:{entry} ".encode())
        written.append(entry)

first, written = os.getpid(), []
entries = Batch(write)
entries.add("before")
if sys.argv[1] == "fork" and not os.fork():
    entries.add("child")
    for _ in range(200):
        time.sleep(0.05)
        if written:
            break
    os._exit(0)  # nothing is flushed by it: the thread of the child wrote
if sys.argv[1] == "fork":
    os.wait()
entries.add("after")
sys.exit(3)
"""


def run(how: str) -> list[str]:
    """What a process wrote that added entries and ended."""
    ended = subprocess.run([sys.executable, "-c", ENDS, how], capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    return ended.stdout.split()


def waiting(seconds: float, written: Sequence[float], many: int) -> None:
    """Wait until so many are written."""
    until = time.monotonic() + seconds
    while len(written) < many and time.monotonic() < until:
        time.sleep(0.01)


def test_an_entry_is_written_soon_and_not_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "SECONDS", 0.5)  # long enough for a busy machine
    written: list[int] = []
    entries = Batch(written.extend)
    for number in range(3):  # also after the thread has slept
        entries.add(number)
        assert len(written) == number
        waiting(10, written, number + 1)
    assert written == [0, 1, 2]


def test_no_more_than_so_many_wait() -> None:
    written: list[int] = []
    entries = Batch(written.extend)
    for number in range(MOST):
        entries.add(number)
    assert written == list(range(MOST))


def test_they_are_written_in_pieces() -> None:
    written: list[list[int]] = []
    entries = Batch(lambda some: written.append(list(some)))
    for number in range(2 * TOGETHER + 3):
        entries.add(number)
    entries.flush()
    assert [len(piece) for piece in written] == [TOGETHER, TOGETHER, 3]
    assert [number for piece in written for number in piece] == list(range(2 * TOGETHER + 3))


def test_what_is_asked_for_is_written_at_once() -> None:
    written: list[int] = []
    entries = Batch(written.extend)
    entries.add(1)
    entries.flush()
    assert written == [1]


def test_many_threads_lose_and_repeat_none() -> None:
    written: list[tuple[int, int]] = []
    entries = Batch(written.extend)

    def add(thread: int) -> None:
        for number in range(2_000):
            entries.add((thread, number))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries.flush()
    assert len(written) == 16_000
    for number in range(8):
        assert [entry for thread, entry in written if thread == number] == list(range(2_000))


def test_who_writes_is_waited_for() -> None:
    """So the order is that in which they came, also where writing one takes long."""
    written: list[int] = []
    may_go_on = threading.Event()

    def write(some: Sequence[int]) -> None:
        if 1 in some:
            may_go_on.wait(20)
        written.extend(some)

    entries = Batch(write)
    entries.add(1)
    threads = [threading.Thread(target=entries.flush) for _ in range(2)]
    threads[0].start()
    entries.add(2)
    threads[1].start()
    threads[1].join(0.3)
    assert threads[1].is_alive()
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert written == [1, 2]


@pytest.mark.soak("measures time for seconds")
def test_under_load_the_requests_write_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of the thread costs those who are served meanwhile more than the writing does."""
    monkeypatch.setattr(batch, "SECONDS", 1.0)
    writers: list[str] = []
    entries = Batch(lambda _some: writers.append(threading.current_thread().name))
    entries.add(0)  # some wait at any time
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        for number in range(MOST):
            entries.add(number)
        time.sleep(0.01)
    assert set(writers) == {threading.current_thread().name}
    until = time.monotonic() + 10
    while writers[-1] != "log" and time.monotonic() < until:
        time.sleep(0.01)
    assert writers[-1] == "log"


def test_nothing_is_done_while_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "SECONDS", 0.01)
    looks: list[float] = []
    batch_of_this_test = Batch(list[str]().extend)  # the log of the process has one, too
    monkeypatch.setattr(batch_of_this_test, "flush", lambda: looks.append(time.monotonic()))
    batch_of_this_test.add("once")
    waiting(10, looks, 1)
    time.sleep(0.3)
    assert len(looks) == 1


@pytest.mark.soak("a process of its own")
def test_the_end_of_a_process_writes_what_waits() -> None:
    assert run("end") == ["True:before", "True:after"]


@pytest.mark.soak("a process of its own")
def test_a_child_writes_its_own_and_nothing_twice() -> None:
    assert sorted(run("fork")) == ["False:child", "True:after", "True:before"]


def test_one_thread_writes_for_all() -> None:
    before = threading.active_count()
    entries = Batch(list[int]().extend)
    for number in range(10 * MOST):
        entries.add(number)
    assert threading.active_count() <= before + 1
