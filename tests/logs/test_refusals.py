"""What requests that cannot be read leave in the log."""

from __future__ import annotations

import logging

from app.observability.logs import FewRefusals


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("gunicorn.error", logging.WARNING, __file__, 1, text, (), None)


def test_one_refusal_a_minute_is_logged() -> None:
    """The rest are counted."""
    now = [0.0]
    few = FewRefusals(lambda: now[0])
    logged = []
    for second in range(121):
        now[0] = float(second)
        each = record("Invalid request from ip=192.0.2.1: " + "x" * 9000)
        if few.filter(each):
            logged.append(each.getMessage())
    assert len(logged) == 3
    assert all(len(text) < 400 for text in logged)
    assert logged[1].endswith(" (and 59 more since the last one logged)")


def test_everything_else_is_logged() -> None:
    few = FewRefusals(lambda: 0.0)
    assert all(few.filter(record("Worker graceful timeout (pid:1)")) for _ in range(100))
