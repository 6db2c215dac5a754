"""The database finds the middle: exact, on both, in one statement."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from statistics import median

import pytest
from flask import Flask
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH
from sqlalchemy import event, insert
from sqlalchemy.dialects.postgresql import psycopg

from app.domain.codes import TransferHistoryStatus
from app.domain.transfer.latency import median_seconds, window
from app.models.engine import reading, writing
from app.models.transfers import LatencyRecord, Transfer
from app.queries.latency.middle import _MIDDLE, middle_latencies
from app.runtime.gateway import current_gateway

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


def record(latencies: list[int], *, src: int = 1, dst: int = 56, ago: timedelta = timedelta(hours=1)) -> None:
    """Completed transfers with these latencies, released ``ago`` before now."""
    ids = [random.randbytes(32) for _ in latencies]
    with writing(current_gateway().engine) as connection:
        if not latencies:
            return
        connection.execute(
            insert(Transfer),
            [
                {
                    "transfer_id": key,
                    "status": TransferHistoryStatus.TRANSFER_COMPLETED,
                    "refund_reason": 0,
                    "updated_at": NOW,
                }
                for key in ids
            ],
        )
        connection.execute(
            insert(LatencyRecord),
            [
                {
                    "transfer_id": key,
                    "src_chain_id": src,
                    "dst_chain_id": dst,
                    "released_at": NOW - ago,
                    "latency_us": latency,
                }
                for key, latency in zip(ids, latencies, strict=True)
            ],
        )


def middle() -> list[int]:
    with reading(current_gateway().engine) as connection:
        return list(middle_latencies(connection, 1, 56, *window(NOW)))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10, 11, 100])
def test_median_of_random_latencies(app: Flask, count: int) -> None:
    latencies = [random.Random(count).randrange(10**9) for _ in range(count)]
    record(latencies)
    assert len(middle()) == 2 - count % 2
    assert median_seconds(middle()) == median(latencies) / 10**6


def test_nothing_counted(app: Flask) -> None:
    assert middle() == []


def test_only_this_pair_and_direction_counts(app: Flask) -> None:
    record([7], src=56, dst=1)
    record([7], src=1, dst=137)
    assert middle() == []


@pytest.mark.parametrize(
    ("ago", "counted"),
    [
        (timedelta(0), True),
        (timedelta(microseconds=-1), False),
        (timedelta(days=7) - timedelta(microseconds=1), True),
        (timedelta(days=7), False),
    ],
)
def test_the_edges_of_the_window(app: Flask, ago: timedelta, counted: bool) -> None:
    record([5], ago=ago)
    assert middle() == ([5] if counted else [])


def test_one_statement_and_two_rows_at_most(app: Flask) -> None:
    record(list(range(1000)))
    statements: list[str] = []
    engine = current_gateway().engine

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        assert middle() == [499, 500]
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert len(statements) == 1


def test_the_driver_parses_the_statement_once() -> None:
    """Psycopg remembers only statements of up to 4,096 characters, by the text that it is given."""
    text = str(_MIDDLE._statement.compile(dialect=psycopg.dialect()))
    assert len(text) <= MAX_CACHED_STATEMENT_LENGTH
