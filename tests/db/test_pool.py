"""Connections are handed out in the order of the requests for them."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from threading import Thread

import gevent
import pytest
from gevent.thread import allocate_lock
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.engine import Tickets, connected, pool_options, prepare, tickets_of
from app.db.sqlite import CREATES
from app.db.timeouts import CONSOLE


def test_longest_waiting_caller_is_next() -> None:
    tickets, served = Tickets(1), []
    assert tickets.take(1)

    def call(number: int) -> None:
        assert tickets.take(10)
        served.append(number)
        tickets.give_back()

    threads = []
    for number in range(5):
        threads.append(Thread(target=call, args=(number,)))
        threads[-1].start()
        while len(tickets._waiting) <= number:
            time.sleep(0.001)
    tickets.give_back()
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3, 4]
    assert tickets.take(0)


def test_ticket_times_out() -> None:
    tickets = Tickets(1)
    assert tickets.take(0)
    assert not tickets.take(0.01)
    tickets.give_back()
    assert tickets.take(0)


def test_ended_greenlet_takes_no_ticket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it waits, nor when a ticket was given to it and it has not gone on yet."""
    monkeypatch.setattr(import_module("app.db.engine"), "Lock", allocate_lock)
    tickets = Tickets(1)

    def call() -> None:
        if tickets.take(10):
            tickets.give_back()

    for is_given in (False, True):
        assert tickets.take(0)
        waiting = gevent.spawn(call)
        gevent.sleep(0)
        gevent.spawn(waiting.throw)  # at once, before it notices that it was given one
        if is_given:
            tickets.give_back()
        waiting.join()
        assert tickets.waiting == 0
        if not is_given:
            tickets.give_back()
    assert tickets.take(0)
    assert not tickets.take(0)


def pooled(path: Path, size: int) -> Engine:
    """An engine whose callers wait a hundredth of a second for a connection."""
    options = pool_options(size) | {"pool_timeout": 0.01, "execution_options": {CREATES: True}}
    engine = create_engine(f"sqlite:///{path}", **options)
    prepare(engine, CONSOLE)
    return engine


def test_exhausted_pool_counts_refusal(tmp_path: Path) -> None:
    engine = pooled(tmp_path / "a.db", 2)
    tickets = tickets_of(engine)
    with connected(engine), connected(engine), pytest.raises(PoolTimeout), connected(engine):
        pass
    assert tickets is not None and tickets.refused == 1
    with connected(engine), connected(engine) as second:
        second.invalidate()  # a lost connection gives its place back, too
    with connected(engine), connected(engine):
        pass
    engine.dispose()
    with connected(engine), connected(engine):
        pass
    engine.dispose()


def test_failed_connection_takes_no_place(tmp_path: Path) -> None:
    (tmp_path / "a.db").mkdir()
    engine = pooled(tmp_path / "a.db", 1)
    with pytest.raises(Exception, match="it is a folder"), connected(engine):
        pass
    (tmp_path / "a.db").rmdir()
    with connected(engine):
        pass
    engine.dispose()
