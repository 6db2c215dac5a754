"""Nothing grows while everything is used at once, and the trends that show it see what grows."""

from __future__ import annotations

import random

import pytest

from tests.programs import program
from tests.soak.__main__ import WHOLE, Outcome, Scale, soak
from tests.soak.samples import OF_THE_MACHINE
from tests.soak.trends import HELD, MISSED, UNCLEAR, Flat, trend

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
A_MEGABYTE_A_MINUTE = [value + at / 60 for value, at in zip(STEADY, TIMES, strict=True)]
WARMING_UP = [value - 50 * max(0.0, 1 - at / 200) for value, at in zip(STEADY, TIMES, strict=True)]
SWINGING = [100.0 + 90 * (number // 30 % 2) for number in range(len(TIMES))]


@pytest.mark.parametrize(
    ("series", "verdict"),
    [
        pytest.param(STEADY, HELD, id="steady"),
        pytest.param(A_MEGABYTE_A_MINUTE, MISSED, id="leaking"),
        pytest.param(WARMING_UP, HELD, id="warming up"),
        pytest.param(SWINGING, UNCLEAR, id="swinging"),
    ],
)
def test_trend_sees_growth_through_noise(series: list[float], verdict: str) -> None:
    assert trend(TIMES, series).verdict(Flat(share=0.05, amount=4.0)) == verdict
