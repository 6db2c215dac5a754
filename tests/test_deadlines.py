"""How long work may wait in all: every wait counts once, and what is done in between does not."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.engine import connected, pool_options, prepare
from app.db.timeouts import COMMAND, FEED, PUBLIC, Waiting, within


def test_unlimited_waits_have_their_own_limit() -> None:
    with Waiting(3) as seconds:
        assert seconds == 3
    with Waiting() as seconds:
        assert seconds is None


def test_waits_use_up_time_work_does_not() -> None:
    with within(0.2):
        time.sleep(0.3)
        with Waiting(3) as seconds:
            assert seconds is not None and 0.19 < seconds <= 0.2
            time.sleep(0.05)
        with Waiting() as seconds:
            assert seconds is not None and seconds <= 0.15
            time.sleep(0.3)
        with Waiting(3) as seconds:
            assert seconds == 0
    with Waiting(3) as seconds:
        assert seconds == 3


def test_inner_waits_use_up_outer_time() -> None:
    with within(1):
        with within(0.05), Waiting() as seconds:
            assert seconds is not None and seconds <= 0.05
            time.sleep(0.1)
        with Waiting() as seconds:
            assert seconds is not None and 0.5 < seconds <= 0.96
        with within(9), Waiting() as seconds:
            assert seconds is not None and seconds < 1


def test_no_time_left_means_no_connection_wait() -> None:
    engine = create_engine("sqlite://", **pool_options(1))
    prepare(engine, PUBLIC)
    with connected(engine), within(0):
        began = time.monotonic()
        with pytest.raises(PoolTimeout), connected(engine):
            pass
        assert time.monotonic() - began < 1
    engine.dispose()


def test_connection_outwaits_statement_and_lock() -> None:
    assert PUBLIC.answer == 5
    assert FEED.answer is not None and FEED.answer > FEED.statement + FEED.lock
    assert COMMAND.answer is None
