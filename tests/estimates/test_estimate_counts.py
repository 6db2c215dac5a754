"""What becomes of estimates is counted exactly, whoever counts, and added up over processes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import create_engine, insert, select
from sqlalchemy.exc import OperationalError

from app.console.estimates.views import estimate_view
from app.db.engine import reading, writing
from app.estimates.models import EstimateCount
from app.estimates.rules.refusals import EstimateRefused
from app.estimates.services import RETENTION, EstimateCounts, estimate_inputs, estimate_transfer
from app.network.document import import_network
from app.values.codes import Reason
from app.values.errors import GatewayError, Unavailable
from tests.actors import TESTER
from tests.estimates.services.estimate_kit import NOON, ask
from tests.gateway import Gateway, current_gateway
from tests.network.services.network_kit import network, text

MINUTE = int(NOON.timestamp()) // 60
NEVER = 1e6
"""Seconds until the thread would write by itself."""


@pytest.fixture
def gateway(app: Flask) -> Iterator[Gateway]:
    gateway = current_gateway().but(clock=lambda: NOON)
    counts = EstimateCounts(gateway.engine, gateway.clock, NEVER)
    gateway = gateway.but(estimate_counts=counts)
    import_network(*gateway.editing, text(network()), actor=TESTER)
    yield gateway
    counts.end()


def table(gateway: Gateway) -> dict[tuple[int, int, str], int]:
    columns = (EstimateCount.minute, EstimateCount.code, EstimateCount.reason, EstimateCount.count.label("n"))
    with reading(gateway.reads) as connection:
        return {(row.minute, row.code, row.reason): row.n for row in connection.execute(select(*columns))}


def estimate(gateway: Gateway, **changes: Any) -> None:
    with contextlib.suppress(EstimateRefused):
        estimate_transfer(
            gateway.database, gateway.snapshots, gateway.estimate_counts, ask(**changes), None, None
        )


def test_every_estimate_outcome_is_counted(gateway: Gateway) -> None:
    estimate(gateway)
    estimate(gateway)
    estimate(gateway, amt=0)
    estimate(gateway, dst_chain_id=12345)
    estimate_view(
        estimate_inputs(gateway.database, gateway.snapshots, ask(), None, None)
    )  # a try in the console does not count
    assert table(gateway) == {}
    assert gateway.estimate_counts.flush() == 4
    assert table(gateway) == {
        (MINUTE, 0, ""): 2,
        (MINUTE, 500, "amount_zero"): 1,
        (MINUTE, 500, "chain_unknown"): 1,
    }
    assert gateway.estimate_counts.flush() == 0


def test_a_failure_of_the_gateway_counts_too(gateway: Gateway) -> None:
    broken = gateway.but(clock=lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        estimate_transfer(broken.database, broken.snapshots, broken.estimate_counts, ask(), None, None)
    gateway.estimate_counts.refused(Unavailable("out of reach"))
    gateway.estimate_counts.flush()
    assert table(gateway) == {(MINUTE, 500, "internal"): 1, (MINUTE, 500, "unavailable"): 1}


def test_processes_add_to_the_same_rows(gateway: Gateway) -> None:
    others = [EstimateCounts(gateway.engine, gateway.clock, NEVER) for _ in range(3)]
    blocked = GatewayError("", reason=Reason.ADDRESS_BLOCKED)
    for n, counts in enumerate([gateway.estimate_counts, *others], 1):
        for _ in range(n):
            counts.answered()
            counts.refused(blocked)
        counts.flush()
    assert table(gateway) == {(MINUTE, 0, ""): 10, (MINUTE, 1015, "address_blocked"): 10}
    for counts in others:
        counts.end()


def test_threads_lose_no_count(gateway: Gateway) -> None:
    counts, flushed = gateway.estimate_counts, []

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
    assert table(gateway) == {(MINUTE, 0, ""): 16_000}


def test_thread_writes_and_end_flushes(gateway: Gateway) -> None:
    counts = EstimateCounts(gateway.engine, gateway.clock, 0.01)
    counts.answered()
    for _ in range(500):
        if table(gateway):
            break
        threading.Event().wait(0.02)
    assert table(gateway) == {(MINUTE, 0, ""): 1}
    slow = EstimateCounts(gateway.engine, gateway.clock, NEVER)
    slow.answered()
    slow.end()
    assert table(gateway) == {(MINUTE, 0, ""): 2}
    counts.end()


def test_what_cannot_be_written_waits(gateway: Gateway) -> None:
    counts = EstimateCounts(create_engine("sqlite:////nowhere/at/all.db"), gateway.clock, NEVER)
    counts.answered()
    with pytest.raises(OperationalError):
        counts.flush()
    counts.answered()
    counts._engine = gateway.engine
    assert counts.flush() == 2
    counts.end()


def test_a_child_process_begins_from_nothing(gateway: Gateway) -> None:
    counts = gateway.estimate_counts
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


def test_old_counts_go(gateway: Gateway) -> None:
    week = RETENTION // timedelta(minutes=1)
    with writing(gateway.engine) as connection:
        for ago in (week, week + 1):
            values = {"minute": MINUTE - ago, "code": 0, "reason": "", "count": 1}
            connection.execute(insert(EstimateCount).values(**values))
    gateway.estimate_counts.answered()
    gateway.estimate_counts.flush()
    assert set(table(gateway)) == {(MINUTE, 0, ""), (MINUTE - week, 0, "")}


def test_without_an_interval_nothing_is_counted(gateway: Gateway) -> None:
    counts = EstimateCounts(gateway.engine, gateway.clock, 0)
    counts.answered()
    assert (counts.flush(), counts._thread) == (0, None)
