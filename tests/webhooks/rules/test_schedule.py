"""When a delivery is tried again."""

from datetime import timedelta

import pytest

from app.webhooks.rules.schedule import DELAYS, LONGEST_WAIT, next_delay

EXPECTED = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600]


def test_retry_delays_are_as_documented() -> None:
    assert DELAYS[0] == timedelta(0)
    assert [next_delay(n, 0) for n in range(1, 10)] == [timedelta(seconds=s) for s in EXPECTED]
    assert next_delay(10, 0) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_jitter_adds_at_most_a_fifth(share: float) -> None:
    assert next_delay(3, share) == timedelta(minutes=30) * (1 + 0.2 * share)


def test_retry_after_only_lengthens() -> None:
    """Up to a day."""
    assert next_delay(1, 0, timedelta(minutes=7)) == timedelta(minutes=7)
    assert next_delay(4, 0, timedelta(seconds=1)) == timedelta(hours=2)
    assert next_delay(1, 0, timedelta(days=400)) == LONGEST_WAIT
    assert next_delay(10, 0, timedelta(minutes=7)) is None
