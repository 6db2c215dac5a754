"""A snapshot that a thread renews: no request waits for a silent database, and none gets an older view."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from app.db.database import Database
from app.db.timeouts import Answers
from app.network import services
from app.network.document import import_network
from app.network.services import (
    AHEAD_SECONDS,
    IDLE_SECONDS,
    MAX_STALE_SECONDS,
    RETRY_SECONDS,
    NetworkSnapshots,
)
from app.network.snapshot import NetworkSnapshot
from app.values.errors import Unavailable
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services.network_kit import ETHEREUM, changed, text
from tests.timer import Timer, eventually

MAX_AGE = 1.0
AT_ONCE = 0.5
"""Seconds that an answer from memory never takes, and each wait takes."""


class Loads:
    """Answers, fails, or is silent until the end of the test."""

    def __init__(self, timer: Timer) -> None:
        self.state = "answers"
        self._timer = timer
        self.reads = 0
        self.called, self.over = threading.Event(), threading.Event()
        self._load = services.load_snapshot

    def load(self, *arguments: Any) -> NetworkSnapshot:
        self.reads += 1
        self.called.set()
        if self.state == "silent":
            self.over.wait(30)
        if self.state != "answers":
            raise OperationalError("select", {}, Exception("no connection"))
        return self._load(*arguments)

    def becomes(self, state: str) -> None:
        """Change, and wait until the thread has noticed. It reads when half of the allowed age is over."""
        self.state = state
        self.called.clear()
        self._timer.now += MAX_AGE - AHEAD_SECONDS
        assert self.called.wait(10)


@pytest.fixture
def loads(timer: Timer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    loads = Loads(timer)
    monkeypatch.setattr(services, "load_snapshot", loads.load)
    yield loads
    loads.over.set()


@pytest.fixture
def timer() -> Iterator[Timer]:
    """The clock of the view, by which the thread is no longer needed when the test is over."""
    timer = Timer()
    yield timer
    timer.now += 2 * IDLE_SECONDS
    eventually(lambda: not renewal_threads())


@pytest.fixture
def snapshots(database: Database, loads: Loads, timer: Timer) -> NetworkSnapshots:
    snapshots = NetworkSnapshots(database.engine, MAX_AGE, timer, in_background=True)
    snapshots.current()
    return snapshots


def renewal_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "network"]


def seconds_of(read: Callable[[], object]) -> float:
    began = time.monotonic()
    read()
    return time.monotonic() - began


def test_change_is_seen_without_a_reading_request(
    editing: Editing, snapshots: NetworkSnapshots, timer: Timer
) -> None:
    import_network(*editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    timer.now += MAX_AGE - AHEAD_SECONDS
    eventually(lambda: snapshots.current().terms.chains[ETHEREUM].name == "Main")


def is_available(snapshots: NetworkSnapshots) -> bool:
    try:
        return bool(snapshots.current())
    except Unavailable:
        return False


def test_silent_database_delays_no_request(snapshots: NetworkSnapshots, loads: Loads, timer: Timer) -> None:
    loads.becomes("silent")
    timer.now += AHEAD_SECONDS + 0.001
    assert max(seconds_of(snapshots.current) for _ in range(10)) < AT_ONCE


def test_failing_database_delays_no_request(snapshots: NetworkSnapshots, loads: Loads, timer: Timer) -> None:
    loads.becomes("fails")
    eventually(lambda: snapshots._failed_at is not None)
    loads.state = "silent"  # for a request that would read itself
    timer.now += RETRY_SECONDS + 0.001
    assert seconds_of(snapshots.current) < AT_ONCE


def test_view_older_than_a_minute_is_refused(snapshots: NetworkSnapshots, loads: Loads, timer: Timer) -> None:
    good_at = snapshots.good_at
    assert good_at is not None
    loads.becomes("silent")
    for age in (MAX_AGE + 1, 30, MAX_STALE_SECONDS):
        timer.now = good_at + age
        snapshots.current()
    timer.now += 0.001
    with pytest.raises(Unavailable):
        snapshots.current()
    loads.over.set()
    loads.state = "answers"
    timer.now += RETRY_SECONDS
    eventually(lambda: is_available(snapshots))


def test_request_waits_while_the_database_answers(database: Database, loads: Loads, timer: Timer) -> None:
    answers = Answers()
    snapshots = NetworkSnapshots(database.engine, MAX_AGE, timer, in_background=True, answers=answers)
    snapshots.current()
    loads.becomes("silent")  # one statement of many, the others of which are answered
    answers.last_at = time.monotonic() + 30
    timer.now += AHEAD_SECONDS + 0.001
    assert seconds_of(snapshots.current) > AT_ONCE


def test_unused_view_is_not_renewed(snapshots: NetworkSnapshots, loads: Loads, timer: Timer) -> None:
    timer.now += IDLE_SECONDS
    eventually(lambda: not renewal_threads())
    reads = loads.reads
    time.sleep(0.6)
    assert loads.reads == reads
    snapshots.current()
    assert loads.reads > reads
    assert renewal_threads()


def test_without_an_allowed_age_no_thread_runs(database: Database) -> None:
    NetworkSnapshots(database.engine, max_age_seconds=0, in_background=True).current()
    assert not renewal_threads()


def test_forked_process_starts_own_renewal_thread(snapshots: NetworkSnapshots, loads: Loads) -> None:
    view = snapshots.current()
    loads._load = lambda *_: view  # a child must not use connections of its parent
    child = os.fork()
    if child == 0:
        there = bool(renewal_threads())
        snapshots.current()
        os._exit(0 if not there and renewal_threads() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
