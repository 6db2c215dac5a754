"""The database finds the median: exact, on both, in one statement."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from app.db.database import Database
from app.db.engine import reading
from app.latency.queries import ninth_tenths_by_pair, twice_median, twice_medians_by_pair
from app.latency.rules.median import window
from app.values.identifiers import ChainId
from tests.latency.queries.records import NOW, PAIR, count, record
from tests.steps import statements


def twice(database: Database) -> int | None:
    with reading(database.engine) as connection:
        return twice_median(connection, *PAIR, *window(NOW))


def test_empty_window_has_no_median(database: Database) -> None:
    record(database, [5, 6])
    count(database)
    later = window(NOW + timedelta(days=7))
    with reading(database.engine) as connection:
        assert twice_median(connection, *PAIR, *later) is None
        assert twice_medians_by_pair(connection, *later) == ninth_tenths_by_pair(connection, *later) == {}


@pytest.mark.parametrize("counted", [True, False])
def test_one_statement_finds_the_median(counted: bool, database: Database) -> None:
    """Only from the records where nothing is counted."""
    record(database, list(range(1000)))
    if counted:
        count(database)
    with statements(database.engine) as executed:
        assert twice(database) == 999
    assert len(executed) == 1


@pytest.mark.parametrize("counted", [True, False])
def test_pair_medians_match_single_ones(counted: bool, database: Database) -> None:
    draw = random.Random(7)
    ends = [(ChainId(src), ChainId(dst)) for src in (1, 10, 56) for dst in (2, 56, 137) if src != dst]
    pairs = {pair: draw.randrange(1, 40) for pair in ends}
    for (src, dst), number in pairs.items():
        record(
            database,
            [draw.choice((5, 700_000, draw.randrange(10**8))) for _ in range(number)],
            src=src,
            dst=dst,
        )
    record(database, [1], src=1, dst=999, ago=timedelta(days=8))
    if counted:
        count(database)
    with reading(database.engine) as connection:
        found = twice_medians_by_pair(connection, *window(NOW))
        ninth_tenths = ninth_tenths_by_pair(connection, *window(NOW))
        each = {pair: twice_median(connection, *pair, *window(NOW)) for pair in pairs}
    assert found == each
    assert {pair: total for pair, (_latency, total) in ninth_tenths.items()} == pairs
