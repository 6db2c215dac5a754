"""When a delivery is tried, and tried again (docs/webhooks.md#retries)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

DELAYS: Final = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""How long after the attempt before each attempt is made, without the jitter."""

JITTER: Final = 0.2
"""The part of a delay that is added at most, so that receivers that come back are not met by all at once."""

LONGEST_DELAY: Final = DELAYS[-1] * (1 + JITTER)
"""How long no attempt waits for the one before."""

LONGEST_WAIT: Final = timedelta(hours=24)
"""What a receiver may ask for by ``Retry-After``; more counts as this."""

KEPT: Final = timedelta(days=30)
"""How long deliveries are kept, whatever became of them."""

OLD_SECRET_LASTS: Final = timedelta(hours=24)
"""How long the former secret signs beside the new one."""


def next_delay(attempts: int, share: float, retry_after: timedelta | None = None) -> timedelta | None:
    """How long to wait after a failed attempt; None where it was the last.

    :param attempts: that were made, this one included.
    :param share: a random number from 0 to 1.
    :param retry_after: what the receiver asked for; it makes the wait longer, never shorter.
    """
    if attempts >= len(DELAYS):
        return None
    wait = DELAYS[attempts] * (1 + JITTER * share)
    return wait if retry_after is None else max(wait, min(retry_after, LONGEST_WAIT))
