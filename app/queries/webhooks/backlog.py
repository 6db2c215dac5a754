"""How much is to be sent that has not been sent, and since when?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, func, literal, select

from app.domain.webhooks.subscription import State
from app.models.webhooks.deliveries import IS_WAITING, Delivery
from app.models.webhooks.subscriptions import Subscription
from app.queries.transfers.bounds import at_most
from app.queries.transfers.by_status import COUNTED


def count_due(connection: Connection, now: datetime) -> int:
    """How many deliveries to active subscriptions are due and not taken by a sender; up to ``COUNTED``."""
    due = (
        select(literal(1))
        .select_from(Delivery)
        .join(Subscription, Subscription.id == Delivery.subscription_id)
        .where(IS_WAITING, Delivery.next_at <= now, Subscription.state == State.ACTIVE.value)
        .limit(at_most(COUNTED))
        .subquery()
    )
    return connection.scalar(select(func.count()).select_from(due)) or 0
