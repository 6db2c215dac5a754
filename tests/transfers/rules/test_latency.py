"""The window's bounds and the median's exactness."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.latency.rules.median import median_seconds, seconds, window


def test_window_is_seven_days() -> None:
    now = datetime(2026, 3, 8, 12, tzinfo=UTC)
    assert window(now) == (datetime(2026, 3, 1, 12, tzinfo=UTC), now)
    assert window(now)[1] - window(now)[0] == timedelta(days=7)


@pytest.mark.parametrize(
    ("twice", "expected"),
    [(0, 0.0), (2, 0.000001), (122_469_134, 61.234567), (3, 0.0000015)],
)
def test_median_seconds_halves_doubled_microseconds(twice: int, expected: float) -> None:
    assert median_seconds(twice) == expected


@given(st.integers(0, 2**63 - 1))
def test_latency_seconds_round_to_nearest_float(microseconds: int) -> None:
    assert seconds(microseconds) == float(Fraction(microseconds, 10**6))
    assert median_seconds(microseconds) == float(Fraction(microseconds, 2 * 10**6))
