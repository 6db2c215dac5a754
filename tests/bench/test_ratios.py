"""What the ratios of a few rounds show about a bar."""

from __future__ import annotations

import random

import pytest

from bench.duels.ratios import (
    ANYWHERE,
    Bound,
    Interval,
    Verdict,
    bootstrap,
    estimate,
    slowest_to_median,
)

AT_LEAST = Bound(at_least=0.7)
AT_MOST = Bound(at_most=1.2)


@pytest.mark.parametrize(
    ("low", "high", "at_least", "at_most"),
    [
        (0.7, 1.2, Verdict.HELD, Verdict.HELD),
        (0.5, 0.69, Verdict.MISSED, Verdict.HELD),
        (0.69, 0.71, Verdict.UNCLEAR, Verdict.HELD),
        (1.1, 1.3, Verdict.HELD, Verdict.UNCLEAR),
        (1.21, 1.3, Verdict.HELD, Verdict.MISSED),
        (0.0, float("inf"), Verdict.UNCLEAR, Verdict.UNCLEAR),
    ],
)
def test_whole_interval_decides_the_bar(low: float, high: float, at_least: Verdict, at_most: Verdict) -> None:
    assert AT_LEAST.verdict(Interval(low, high)) is at_least
    assert AT_MOST.verdict(Interval(low, high)) is at_most


def test_bound_prints_itself() -> None:
    assert (str(AT_LEAST), str(AT_MOST), str(Bound())) == ("≥ 0.7", "≤ 1.2", "")
    assert (AT_LEAST.is_bar, AT_MOST.is_bar, Bound().is_bar) == (True, True, False)


def test_few_ratios_show_nothing() -> None:
    assert bootstrap([1.0] * 5) == ANYWHERE
    assert bootstrap([1.0] * 6) == Interval(1.0, 1.0)


def test_same_ratios_show_the_same() -> None:
    ratios = [0.8, 1.3, 0.9, 1.0, 1.1, 0.7, 1.2]
    found = estimate(ratios)
    assert found == estimate(list(ratios))
    assert found.median == 1.0
    assert 0.7 <= found.interval.low < 1.0 < found.interval.high <= 1.3


def test_outlier_round_barely_moves_estimate() -> None:
    """Neither the median nor the interval."""
    steady = [0.95, 0.96, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 0.94, 1.06, 0.93, 1.07]
    wild = [*steady[:-1], 40.0]
    assert estimate(wild).interval.high <= 1.06
    assert estimate(wild).median == estimate(steady).median


def test_interval_covers_truth_as_stated() -> None:
    """15 rounds around 1 with a spread of 10 %, and one in ten of them twice as slow."""
    draw = random.Random(7)
    runs = 200
    covered = 0
    for _ in range(runs):
        ratios = [draw.lognormvariate(0, 0.1) * draw.choice([1] * 18 + [0.5, 2]) for _ in range(15)]
        interval = bootstrap(ratios)
        covered += interval.low <= 1 <= interval.high
    assert 0.89 < covered / runs <= 1


def test_more_rounds_show_more() -> None:
    draw = random.Random(8)
    ratios = [draw.lognormvariate(0, 0.1) for _ in range(120)]
    few, many = bootstrap(ratios[:12]), bootstrap(ratios)
    assert many.high - many.low < (few.high - few.low) / 2


def test_slowest_is_compared_with_the_median() -> None:
    assert slowest_to_median([100, 50, 120]) == 0.5


def test_no_ratios_are_refused() -> None:
    with pytest.raises(ValueError, match="no ratios"):
        estimate([])
    with pytest.raises(ValueError, match="no rates"):
        slowest_to_median([])
