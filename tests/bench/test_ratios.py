"""What the ratios of a few rounds show about a bar."""

from __future__ import annotations

import random

import pytest

from bench.duels.ratios import ANYWHERE, Bound, Interval, Verdict, bootstrap, estimate, slowest_to_median

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


def test_few_ratios_show_nothing() -> None:
    assert bootstrap([1.0] * 5) == ANYWHERE
    assert bootstrap([1.0] * 6) == Interval(1.0, 1.0)


def test_interval_covers_truth_as_stated() -> None:
    """15 rounds around 1 with a spread of 10 %, and one in ten of them twice as slow."""
    draw = random.Random(7)
    runs = 100
    covered = 0
    for _ in range(runs):
        ratios = [draw.lognormvariate(0, 0.1) * draw.choice([1] * 18 + [0.5, 2]) for _ in range(15)]
        interval = bootstrap(ratios)
        covered += interval.low <= 1 <= interval.high
    assert 0.89 < covered / runs <= 1


def test_no_ratios_are_refused() -> None:
    with pytest.raises(ValueError, match="no ratios"):
        estimate([])
    with pytest.raises(ValueError, match="no rates"):
        slowest_to_median([])
