"""How much of what is to be told to receivers has not been sent."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.engine import reading
from app.queries.webhooks import count_due, due_subscriptions
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Backlog:
    """``due``: deliveries, counted up to ``COUNTED``. ``oldest_seconds``: for how long the first of them is
    due, 0 without any."""

    due: int
    oldest_seconds: float


def webhook_backlog(gateway: Gateway) -> Backlog:
    """What is due to receivers that may be sent to, and waits for a sender."""
    now = gateway.clock()
    with reading(gateway.reads) as connection:
        due = count_due(connection, now)
        waiting = due_subscriptions(connection, now) if due else ()
    oldest = (now - waiting[0].first_at).total_seconds() if waiting else 0.0
    return Backlog(due, oldest)
