"""Count, median and percentiles of a pair, of all tokens and of one, against all latencies sorted."""

from __future__ import annotations

import random
from datetime import timedelta
from statistics import median

import pytest

from app.db.database import Database
from app.db.engine import reading
from app.latency.queries import (
    LatencyOrder,
    counted_since,
    latency_order,
    latency_order_of_token,
    ninth_tenths_by_pair,
    twice_median,
    twice_median_and_p90,
    twice_medians_by_pair,
)
from app.latency.rules.median import window
from app.values.identifiers import ChainId
from tests.latency.queries.records import NOW, PAIR, count, record
from tests.steps import statements

WEEK = window(NOW)


def order(database: Database, symbol: str | None = None) -> LatencyOrder | None:
    with reading(database.engine) as connection:
        if symbol is None:
            return latency_order(connection, *PAIR, *WEEK)
        return latency_order_of_token(connection, PAIR, symbol, *WEEK)


def expected(latencies: list[int], found: LatencyOrder | None) -> bool:
    """Whether these are the figures of the latencies, by sorting them all; a percentile by counting."""
    if not latencies:
        return found is None
    assert found is not None
    for percentile, percent in ((found.p90, 90), (found.p99, 99)):
        assert 100 * sum(each <= percentile for each in latencies) >= percent * len(latencies)
        assert 100 * sum(each < percentile for each in latencies) < percent * len(latencies)
    assert found.twice_median == 2 * median(latencies)
    return found.count == len(latencies) and {found.p90, found.p99} <= set(latencies)


@pytest.mark.parametrize("number", [1, 2, 10, 11, 99, 101, 1003])
@pytest.mark.parametrize("different", [10**10, 10**6, 3])
def test_the_figures_of_random_latencies(number: int, different: int, database: Database) -> None:
    draw = random.Random(number * different)
    tokens = {symbol: [draw.randrange(different) for _ in range(number)] for symbol in ("USDT", "WETH")}
    for symbol, latencies in tokens.items():
        record(database, latencies, symbol=symbol)
    record(database, [5] * 7, dst=137, symbol="USDT")
    for counted in (False, True):
        if counted:
            count(database)
        assert expected([*tokens["USDT"], *tokens["WETH"]], order(database))
        for symbol, latencies in tokens.items():
            assert expected(latencies, order(database, symbol))
        assert order(database, "DAI") is None
        with reading(database.engine) as connection:
            found, both = twice_median_and_p90(connection, *PAIR, *WEEK), order(database)
            assert both is not None
            assert found == (both.twice_median, both.p90)
            assert twice_median(connection, *PAIR, *WEEK) == both.twice_median


@pytest.mark.parametrize(("ago", "latency"), [(timedelta(0), 5), (timedelta(microseconds=-1), 6)])
def test_the_edges_of_the_window(database: Database, ago: timedelta, latency: int) -> None:
    record(database, [5], ago=ago, symbol="USDT")
    record(database, [6], ago=timedelta(days=7) + ago, symbol="USDT")
    assert order(database) == order(database, "USDT") == LatencyOrder(1, 2 * latency, latency, latency)


@pytest.mark.parametrize("seed", range(4))
def test_token_reads_are_bounded(seed: int, database: Database) -> None:
    """The window is the longest of whole seconds that has at most that many, and all in it count."""
    draw = random.Random(seed)
    ages = sorted(draw.randrange(60_000) / 1000 for _ in range(30))
    for latency, age in enumerate(ages):
        record(database, [latency], ago=timedelta(seconds=age), symbol=draw.choice(("USDT", "WETH")))
    most = draw.randrange(1, 40)
    with reading(database.engine) as connection:
        after = counted_since(connection, PAIR, *WEEK, most)
        both = [latency_order_of_token(connection, PAIR, symbol, after, NOW) for symbol in ("USDT", "WETH")]
    seconds = (NOW - after).total_seconds()
    assert seconds == int(seconds)
    within = sum(age < seconds for age in ages)
    assert sum(found.count for found in both if found) == within <= most
    if most < 30:
        assert sum(age < seconds + 1 for age in ages) > most
    else:
        assert after == WEEK[0]


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
