"""What failures leave in the log."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy.exc import OperationalError

from app.observability.outages import EVERY_SECONDS, FailureLog

log = logging.getLogger("tests.outages")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def outage(cause: type[Exception] = ConnectionError) -> OperationalError:
    return OperationalError("SELECT 1", {}, cause("gone"))


def test_an_outage_leaves_one_traceback_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    failures = FailureLog(clock)
    for second in range(1458):
        clock.now = second / 10
        failures.report(log, logging.WARNING, "%s answered %d", f"/path/{second}", 503, error=outage())
    texts = [record.getMessage() for record in caplog.records]
    assert texts == [
        "/path/0 answered 503",
        "/path/600 answered 503 (and 599 more since the last one logged)",
        "/path/1200 answered 503 (and 599 more since the last one logged)",
    ]
    assert all(record.exc_info for record in caplog.records)


def test_each_kind_of_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog(Clock())
    for error in (outage(), outage(TimeoutError), outage(), outage(TimeoutError), ValueError("a fault")):
        failures.report(log, logging.WARNING, "failed", error=error)
    assert len(caplog.records) == 3


def test_code_faults_differ_by_place(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog(Clock())
    empty: dict[str, int] = {}
    for place in (lambda: 1 / 0, lambda: empty["missing"], lambda: 1 % 0, lambda: 1 / 0):
        try:
            place()
        except Exception as error:
            failures.report(log, logging.ERROR, "failed", error=error)
    assert len(caplog.records) >= 2
    assert len({record.exc_info[0] for record in caplog.records if record.exc_info}) == 2


def test_next_failure_is_logged_after_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    failures = FailureLog(clock)
    for now in (0.0, EVERY_SECONDS - 0.1, EVERY_SECONDS, 3 * EVERY_SECONDS):
        clock.now = now
        failures.report(log, logging.WARNING, "failed", error=outage())
    assert [record.getMessage() for record in caplog.records] == [
        "failed",
        "failed (and 1 more since the last one logged)",
        "failed",
    ]
