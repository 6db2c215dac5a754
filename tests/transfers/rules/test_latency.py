"""The window's bounds and the median's exactness."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.latency.rules.median import median_seconds, seconds


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
