"""Whether deliveries lie there because nobody sends them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from app.db.engine import reading
from app.queries.webhooks import due_subscriptions, is_any_taken
from app.runtime.gateway import Gateway
from app.services.webhooks.delivering import CLAIM

LATE_AFTER: Final = timedelta(minutes=1)
"""A sender takes what is due within a second; where it was just started, or restarts, within this."""


def unsent_since(gateway: Gateway) -> datetime | None:
    """Since when deliveries are due that no sender takes; None where one seems to run, or nothing is due.

    Senders leave no trace but what they take. One that has all the attempts under way that a receiver may
    have leaves more due to it, so deliveries count only while nothing at all is taken.
    """
    now = gateway.clock()
    with reading(gateway.reads) as connection:
        # What was paused, or left alone for a Retry-After, could not be sent before that was over.
        since = min(
            (
                max(filter(None, (row.first_at, row.state_at, row.quiet_until)))
                for row in due_subscriptions(connection, now)
            ),
            default=now,
        )
        if now - since <= LATE_AFTER or is_any_taken(connection, now, now + CLAIM):
            return None
    return since
