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
"""The time from the previous attempt to each attempt, without the jitter."""

JITTER: Final = 0.2
"""At most this part of a delay is added at random, so a receiver that recovers is not sent all at once."""

LONGEST_DELAY: Final = DELAYS[-1] * (1 + JITTER)
"""The longest time between two attempts."""

LONGEST_WAIT: Final = timedelta(hours=24)
"""The longest wait that a receiver may request by ``Retry-After``; more counts as this."""

RETENTION: Final = timedelta(days=30)
"""How long deliveries are stored, whatever their outcome."""

OLD_SECRET_LASTS: Final = timedelta(hours=24)
"""How long the former secret signs in addition to the new one."""


def next_delay(attempts: int, share: float, retry_after: timedelta | None = None) -> timedelta | None:
    """How long to wait after a failed attempt; None where it was the last.

    :param attempts: the attempts so far, including this one.
    :param share: a random number from 0 to 1.
    :param retry_after: the wait that the receiver requested. It makes the wait longer, never shorter.
    """
    if attempts >= len(DELAYS):
        return None
    wait = DELAYS[attempts] * (1 + JITTER * share)
    return wait if retry_after is None else max(wait, min(retry_after, LONGEST_WAIT))
