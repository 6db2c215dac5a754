"""Whether the trends of a soak see what grows, and nothing where nothing does."""

from __future__ import annotations

import random

import pytest

from tests.soak.__main__ import paced
from tests.soak.trends import HELD, MISSED, UNCLEAR, Flat, report, trend

TIMES = [10.0 * number for number in range(180)]
NOISE = random.Random(3)
STEADY = [150 + NOISE.uniform(-2, 2) for _ in TIMES]
LEAKING = [value + at / 60 for value, at in zip(STEADY, TIMES, strict=True)]
"""A megabyte a minute."""

WARMING = [value - 50 * max(0.0, 1 - at / 200) for value, at in zip(STEADY, TIMES, strict=True)]
MEMORY = Flat(share=0.05, amount=4.0)


def test_what_is_steady_is_held() -> None:
    assert trend(TIMES, STEADY).judge(MEMORY) == HELD


def test_what_leaks_is_missed_and_measured() -> None:
    found = trend(TIMES, LEAKING)
    assert found.judge(MEMORY) == MISSED
    assert found.an_hour == pytest.approx(60, rel=0.1)


def test_the_warm_up_is_not_looked_at() -> None:
    assert trend(TIMES, WARMING).judge(MEMORY) == HELD


def test_strongly_varying_trend_is_unclear() -> None:
    swinging = [100.0 + 90 * (number // 30 % 2) for number in range(len(TIMES))]
    assert trend(TIMES, swinging).judge(Flat(share=0.0, amount=5)) == UNCLEAR


def test_the_greater_bound_counts() -> None:
    assert (Flat(0.05, 4).most(1000), Flat(0.05, 4).most(10)) == (50, 4)


def test_a_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 12"):
        trend(TIMES[:12], STEADY[:12])


def test_the_report_names_what_grows() -> None:
    series = {"steady": STEADY, "leaking": LEAKING, "only shown": LEAKING}
    rows, missed = report(TIMES, series, {"steady": MEMORY, "leaking": MEMORY, "only shown": None})
    assert missed == ["leaking"]
    assert [row.rsplit("|", 2)[1].strip() for row in rows[2:]] == ["held", "**missed**", "shown"]


def test_the_pause_follows_the_speed() -> None:
    assert paced(100, 200, 100) == 125
    assert paced(100, 50, 100) == 80
    assert paced(100, 105, 100) == 105
    assert paced(1, 0, 100) == 1
