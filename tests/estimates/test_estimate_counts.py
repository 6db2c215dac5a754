"""The outcomes of estimates are counted exactly, and added up over threads and processes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import create_engine, insert, select
from sqlalchemy.exc import OperationalError

from app.console.estimates.views import estimate_view
from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import EstimateCount
from app.estimates.rules.refusals import EstimateRefused
from app.estimates.services import RETENTION, EstimateCounts, estimate_inputs, estimate_transfer
from app.http.application import add_part, part_of
from app.network.snapshot import SnapshotSource
from app.values.codes import Reason
from app.values.errors import GatewayError, Unavailable
from tests.estimates.services.estimate_kit import NOON, query

MINUTE = int(NOON.timestamp()) // 60
NEVER = 1e6
"""Seconds until the thread would write by itself."""


@pytest.fixture
def app(app: Flask) -> Iterator[Flask]:
    counts = EstimateCounts(part_of(app, Database).engine, part_of(app, Database).clock, NEVER)
    add_part(app, EstimateCounts, counts)
    yield app
    counts.end()


def table(database: Database) -> dict[tuple[int, int, str], int]:
    columns = (EstimateCount.minute, EstimateCount.code, EstimateCount.reason, EstimateCount.count.label("n"))
    with reading(database.reads) as connection:
        return {(row.minute, row.code, row.reason): row.n for row in connection.execute(select(*columns))}


def estimate(app: Flask, **changes: Any) -> None:
    with contextlib.suppress(EstimateRefused):
        estimate_transfer(
            part_of(app, Database),
            part_of(app, SnapshotSource),
            part_of(app, EstimateCounts),
            query(**changes),
            None,
            None,
        )


def test_every_estimate_outcome_is_counted(
    app: Flask, database: Database, snapshots: SnapshotSource, estimate_counts: EstimateCounts
) -> None:
    estimate(app)
    estimate(app)
    estimate(app, amt=0)
    estimate(app, dst_chain_id=12345)
    # A trial in the console does not count.
    estimate_view(estimate_inputs(database, snapshots, query(), (), None))
    assert table(database) == {}
    assert estimate_counts.flush() == 4
    assert table(database) == {
        (MINUTE, 0, ""): 2,
        (MINUTE, 500, "amount_zero"): 1,
        (MINUTE, 500, "chain_unknown"): 1,
    }
    assert estimate_counts.flush() == 0


def test_a_failure_of_the_gateway_counts_too(
    database: Database, snapshots: SnapshotSource, estimate_counts: EstimateCounts
) -> None:
    broken = replace(database, clock=lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        estimate_transfer(broken, snapshots, estimate_counts, query(), None, None)
    estimate_counts.refused(Unavailable("out of reach"))
    estimate_counts.flush()
    assert table(database) == {(MINUTE, 500, "internal"): 1, (MINUTE, 500, "unavailable"): 1}


def test_processes_add_to_the_same_rows(database: Database, estimate_counts: EstimateCounts) -> None:
    others = [EstimateCounts(database.engine, database.clock, NEVER) for _ in range(3)]
    blocked = GatewayError("", reason=Reason.ADDRESS_BLOCKED)
    for n, counts in enumerate([estimate_counts, *others], 1):
        for _ in range(n):
            counts.answered()
            counts.refused(blocked)
        counts.flush()
    assert table(database) == {(MINUTE, 0, ""): 10, (MINUTE, 1015, "address_blocked"): 10}
    for counts in others:
        counts.end()


def test_threads_lose_no_count(database: Database, estimate_counts: EstimateCounts) -> None:
    counts, flushed = estimate_counts, []

    def work() -> None:
        for n in range(2000):
            counts.answered()
            if n % 500 == 0:
                flushed.append(counts.flush())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flushed.append(counts.flush())
    assert sum(flushed) == 16_000
    assert table(database) == {(MINUTE, 0, ""): 16_000}


def test_thread_writes_and_end_flushes(database: Database) -> None:
    counts = EstimateCounts(database.engine, database.clock, 0.01)
    counts.answered()
    for _ in range(500):
        if table(database):
            break
        threading.Event().wait(0.02)
    assert table(database) == {(MINUTE, 0, ""): 1}
    slow = EstimateCounts(database.engine, database.clock, NEVER)
    slow.answered()
    slow.end()
    assert table(database) == {(MINUTE, 0, ""): 2}
    counts.end()


def test_what_cannot_be_written_waits(database: Database) -> None:
    counts = EstimateCounts(create_engine("sqlite:////nowhere/at/all.db"), database.clock, NEVER)
    counts.answered()
    with pytest.raises(OperationalError):
        counts.flush()
    counts.answered()
    counts._engine = database.engine
    assert counts.flush() == 2
    counts.end()


def test_a_child_process_begins_from_nothing(estimate_counts: EstimateCounts) -> None:
    counts = estimate_counts
    counts.answered()
    lock = counts._lock
    with lock:  # as if a request were counted while the process forks
        child = os.fork()
        if child == 0:
            empty = not counts._counts and counts._thread is None
            free = counts._lock.acquire(blocking=False)
            os._exit(0 if empty and free else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert counts.flush() == 1


def test_old_counts_go(database: Database, estimate_counts: EstimateCounts) -> None:
    week = RETENTION // timedelta(minutes=1)
    with writing(database.engine) as connection:
        for ago in (week, week + 1):
            values = {"minute": MINUTE - ago, "code": 0, "reason": "", "count": 1}
            connection.execute(insert(EstimateCount).values(**values))
    estimate_counts.answered()
    estimate_counts.flush()
    assert set(table(database)) == {(MINUTE, 0, ""), (MINUTE - week, 0, "")}


def test_without_an_interval_nothing_is_counted(database: Database) -> None:
    counts = EstimateCounts(database.engine, database.clock, 0)
    counts.answered()
    assert (counts.flush(), counts._thread) == (0, None)
