"""What a request needs is read seldom, once at a time, and waited for briefly."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from app.monitoring.metrics import Cached


class Source:
    """Something that can be slow, or fail, and counts how often it was read."""

    def __init__(self) -> None:
        self.reads = 0
        self.fails = False
        self.free = threading.Event()
        self.free.set()

    def read(self) -> int:
        self.reads += 1
        number = self.reads
        self.free.wait(20)
        if self.fails:
            raise OSError("away")
        return number


@pytest.fixture
def source() -> Iterator[Source]:
    found = Source()
    yield found
    found.free.set()


def soon(cached: Cached[int], timeout: float = 10, oldest: float = 60) -> int | None:
    cached.refresh()
    found = cached.current(time.monotonic() + timeout, oldest)
    return None if found is None else found.value


def test_value_is_read_once_per_period(source: Source) -> None:
    cached = Cached("a source", source.read, every=1000)
    assert [soon(cached) for _ in range(5)] == [1] * 5
    assert source.reads == 1


def test_value_is_reread_after_period(source: Source) -> None:
    cached = Cached("a source", source.read, every=0)
    assert [soon(cached), soon(cached), soon(cached)] == [1, 2, 3]


def test_hanging_read_returns_known_value(source: Source) -> None:
    """It starts no further read."""
    cached = Cached("a source", source.read, every=0)
    assert soon(cached) == 1
    source.free.clear()
    started = time.monotonic()
    assert [soon(cached, timeout=0.05) for _ in range(3)] == [1, 1, 1]
    assert time.monotonic() - started < 5
    assert source.reads == 2
    source.free.set()
    assert soon(cached) in (2, 3)


def test_too_old_value_is_omitted(source: Source) -> None:
    cached = Cached("a source", source.read, every=0)
    assert soon(cached) == 1
    source.free.clear()
    time.sleep(0.05)
    assert soon(cached, timeout=0, oldest=0.04) is None
    assert Cached("another", source.read, every=0).current(0, 60) is None


def test_failed_read_is_logged_and_retried(source: Source, caplog: pytest.LogCaptureFixture) -> None:
    cached = Cached("a source", source.read, every=0)
    source.fails = True
    assert soon(cached) is None
    assert "a source cannot be read" in caplog.text
    source.fails = False
    assert soon(cached) == 2


def test_missing_thread_is_survived(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = Cached("a source", source.read, every=0)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        assert soon(cached, timeout=0) is None
    assert soon(cached) == 1


def no_thread(_self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
