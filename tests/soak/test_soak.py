"""Nothing grows while everything is used at once, and the trends that show it see what grows."""

from __future__ import annotations

import random

import pytest

from tests.programs import program
from tests.soak.__main__ import WHOLE, Outcome, Scale, paced, soak
from tests.soak.samples import OF_THE_MACHINE
from tests.soak.trends import HELD, MISSED, UNCLEAR, Flat, report, trend

CALLERS = {"load", "reporter", "waits", "events of streams", "gRPC-Web", "API key", "console", "webhooks"}
A_MINUTE = Scale(minutes=1, every=1, top_seconds=3, transfers=200)
FAILED = 0.01
"""The part of the answers that may fail next to other tests, where the database may have no time for some."""


def run(scale: Scale) -> Outcome:
    program("wrk")
    found = soak(scale)
    assert found.faults == []
    assert found.done.keys() >= CALLERS
    assert found.failed_part <= FAILED, found.failed
    return found


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.postgresql
def test_everything_at_once_is_answered() -> None:
    """In a minute figures mean nothing."""
    run(A_MINUTE)


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.postgresql
def test_nothing_grows_in_half_an_hour() -> None:
    assert set(run(WHOLE).grown) <= OF_THE_MACHINE


TIMES = [10.0 * number for number in range(180)]
NOISE = random.Random(3)
STEADY = [150 + NOISE.uniform(-2, 2) for _ in TIMES]
LEAKING = [value + at / 60 for value, at in zip(STEADY, TIMES, strict=True)]
"""A megabyte a minute."""

WARMING = [value - 50 * max(0.0, 1 - at / 200) for value, at in zip(STEADY, TIMES, strict=True)]
MEMORY = Flat(share=0.05, amount=4.0)


def test_steady_series_is_held() -> None:
    assert trend(TIMES, STEADY).verdict(MEMORY) == HELD


def test_leak_is_missed_and_measured() -> None:
    found = trend(TIMES, LEAKING)
    assert found.verdict(MEMORY) == MISSED
    assert found.an_hour == pytest.approx(60, rel=0.1)


def test_warm_up_is_left_out() -> None:
    assert trend(TIMES, WARMING).verdict(MEMORY) == HELD


def test_strongly_varying_trend_is_unclear() -> None:
    swinging = [100.0 + 90 * (number // 30 % 2) for number in range(len(TIMES))]
    assert trend(TIMES, swinging).verdict(Flat(share=0.0, amount=5)) == UNCLEAR


def test_greater_bound_counts() -> None:
    assert (Flat(0.05, 4).most(1000), Flat(0.05, 4).most(10)) == (50, 4)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 12"):
        trend(TIMES[:12], STEADY[:12])


def test_report_names_what_grows() -> None:
    series = {"steady": STEADY, "leaking": LEAKING, "only shown": LEAKING}
    rows, missed = report(TIMES, series, {"steady": MEMORY, "leaking": MEMORY, "only shown": None})
    assert missed == ["leaking"]
    assert [row.rsplit("|", 2)[1].strip() for row in rows[2:]] == ["held", "**missed**", "shown"]


def test_pause_follows_speed() -> None:
    assert paced(100, 200, 100) == 125
    assert paced(100, 50, 100) == 80
    assert paced(100, 105, 100) == 105
    assert paced(1, 0, 100) == 1
