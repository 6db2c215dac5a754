"""The database finds the middle: exact, on both, in one statement."""

from __future__ import annotations

import random
from datetime import timedelta
from statistics import median

import pytest
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH
from sqlalchemy import event
from sqlalchemy.dialects.postgresql import psycopg

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.projection.latencies import recount
from app.latency.queries import _MEDIAN, ninth_tenths_by_pair, twice_median, twice_medians_by_pair
from app.latency.rules.median import window
from tests.latency.queries.records import NOW, record


def twice(database: Database) -> int | None:
    with reading(database.engine) as connection:
        return twice_median(connection, 1, 56, *window(NOW))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10, 11, 100, 1001])
@pytest.mark.parametrize(
    "different", [10**9, 10**6, 50], ids=["all apart", "in two buckets", "nearly all the same"]
)
def test_median_of_random_latencies(count: int, different: int, database: Database) -> None:
    latencies = [random.Random(count).randrange(different) for _ in range(count)]
    record(database, latencies)
    for counted in (False, True):
        if counted:
            with writing(database.engine) as connection:
                recount(connection, NOW)
        assert twice(database) == 2 * median(latencies)


def test_nothing_counted(database: Database) -> None:
    assert twice(database) is None


def test_only_this_pair_and_direction_counts(database: Database) -> None:
    record(database, [7], src=56, dst=1)
    record(database, [7], src=1, dst=137)
    assert twice(database) is None


@pytest.mark.parametrize(
    ("ago", "counted"),
    [
        (timedelta(0), True),
        (timedelta(microseconds=-1), False),
        (timedelta(days=7) - timedelta(microseconds=1), True),
        (timedelta(days=7), False),
    ],
)
def test_the_edges_of_the_window(database: Database, ago: timedelta, counted: bool) -> None:
    record(database, [5], ago=ago)
    assert twice(database) == (10 if counted else None)


def test_everything_has_left_the_window(database: Database) -> None:
    record(database, [5, 6])
    with writing(database.engine) as connection:
        recount(connection, NOW)
    later = window(NOW + timedelta(days=7))
    with reading(database.engine) as connection:
        assert twice_median(connection, 1, 56, *later) is None
        assert twice_medians_by_pair(connection, *later) == ninth_tenths_by_pair(connection, *later) == {}


@pytest.mark.parametrize("counted", [True, False])
def test_one_statement_finds_the_middle(counted: bool, database: Database) -> None:
    """From the records alone where nothing is counted."""
    record(database, list(range(1000)))
    if counted:
        with writing(database.engine) as connection:
            recount(connection, NOW)
    statements: list[str] = []
    engine = database.engine

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        assert twice(database) == 999
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert len(statements) == 1


@pytest.mark.parametrize("counted", [True, False])
def test_pair_medians_match_single_ones(counted: bool, database: Database) -> None:
    draw = random.Random(7)
    pairs = {(src, dst): draw.randrange(1, 40) for src in (1, 10, 56) for dst in (2, 56, 137) if src != dst}
    for (src, dst), number in pairs.items():
        record(
            database,
            [draw.choice((5, 700_000, draw.randrange(10**8))) for _ in range(number)],
            src=src,
            dst=dst,
        )
    record(database, [1], src=1, dst=999, ago=timedelta(days=8))
    if counted:
        with writing(database.engine) as connection:
            recount(connection, NOW)
    with reading(database.engine) as connection:
        found = twice_medians_by_pair(connection, *window(NOW))
        ninth_tenths = ninth_tenths_by_pair(connection, *window(NOW))
        each = {pair: twice_median(connection, *pair, *window(NOW)) for pair in pairs}
    assert found == each
    assert {pair: total for pair, (_latency, total) in ninth_tenths.items()} == pairs


def test_the_driver_parses_the_statement_once() -> None:
    """Psycopg remembers only statements of up to 4,096 characters, by the text that it is given."""
    text = str(_MEDIAN.compile(dialect=psycopg.dialect()))
    assert len(text) <= MAX_CACHED_STATEMENT_LENGTH
