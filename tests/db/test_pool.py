"""Connections are handed out in the order in which they were asked for."""

from __future__ import annotations

import time
from threading import Thread

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.engine import FairPool, Tickets


def test_who_waits_longest_is_next() -> None:
    tickets, served = Tickets(1), []
    assert tickets.take(1)

    def ask(number: int) -> None:
        assert tickets.take(10)
        served.append(number)
        tickets.give_back()

    threads = []
    for number in range(5):
        threads.append(Thread(target=ask, args=(number,)))
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


def test_exhausted_pool_reports_it(tmp_path) -> None:
    engine = create_engine(
        f"sqlite:///{tmp_path / 'a.db'}", poolclass=FairPool, pool_size=1, max_overflow=1, pool_timeout=0.01
    )
    with engine.connect(), engine.connect(), pytest.raises(PoolTimeout):
        engine.connect()
    with engine.connect(), engine.connect() as second:
        second.invalidate()  # a lost connection gives its place back, too
    with engine.connect(), engine.connect():
        pass
    engine.dispose()
    with engine.connect(), engine.connect():
        pass
    engine.dispose()


def test_failed_connection_takes_no_place(tmp_path) -> None:
    engine = create_engine(
        f"sqlite:///{tmp_path / 'missing' / 'a.db'}",
        poolclass=FairPool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=0.01,
    )
    for _ in range(3):
        with pytest.raises(Exception, match="unable to open"):
            engine.connect()
    (tmp_path / "missing").mkdir()
    with engine.connect():
        pass
    engine.dispose()
