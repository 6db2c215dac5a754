"""The window's bounds and the median's exactness."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.latency.median import median_seconds, window


def test_window_is_seven_days() -> None:
    now = datetime(2026, 3, 8, 12, tzinfo=UTC)
    assert window(now) == (datetime(2026, 3, 1, 12, tzinfo=UTC), now)
    assert window(now)[1] - window(now)[0] == timedelta(days=7)


@pytest.mark.parametrize(
    ("middle", "seconds"),
    [([0], 0.0), ([1], 0.000001), ([61_234_567], 61.234567), ([1, 2], 0.0000015), ([10**6, 3 * 10**6], 2.0)],
)
def test_median_of_the_middle(middle: list[int], seconds: float) -> None:
    assert median_seconds(middle) == seconds


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=2))
def test_median_is_the_nearest_float(middle: list[int]) -> None:
    assert median_seconds(middle) == float(Fraction(sum(middle), len(middle) * 10**6))


@pytest.mark.parametrize("middle", [[], [1, 2, 3]])
def test_a_median_has_one_middle_or_two(middle: list[int]) -> None:
    with pytest.raises(ValueError, match="one middle value or two"):
        median_seconds(middle)
