"""Which deliveries are due, and to whom?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, update

from app.domain.webhooks.subscription import State
from app.models.webhooks.deliveries import IS_WAITING, Delivery
from app.models.webhooks.subscriptions import Subscription

DueSubscription = Row[*tuple[Any, ...]]
"""The columns of a subscription, and ``first_at``: when its first delivery is due or was."""

TakenDelivery = Row[*tuple[Any, ...]]


def _waiting() -> Any:
    """The subscriptions with deliveries that wait, found by a step of the index each.

    However many deliveries wait for one of them, it is one step.
    """
    first = select(func.min(Delivery.subscription_id).label("id")).where(IS_WAITING)
    waiting = first.cte("waiting", recursive=True)
    following = (
        select(func.min(Delivery.subscription_id))
        .where(IS_WAITING, Delivery.subscription_id > waiting.c.id)
        .correlate(waiting)
        .scalar_subquery()
    )
    return waiting.union_all(select(following).where(waiting.c.id.is_not(None)))


def due_subscriptions(connection: Connection, now: datetime) -> Sequence[DueSubscription]:
    """The subscriptions that something is due to and that may be sent to, the longest due first."""
    waiting = _waiting()
    first_at = (
        select(func.min(Delivery.next_at))
        .where(IS_WAITING, Delivery.subscription_id == waiting.c.id)
        .correlate(waiting)
        .scalar_subquery()
        .label("first_at")
    )
    found = (
        select(Subscription.__table__, first_at)
        .join(waiting, waiting.c.id == Subscription.id)
        .where(
            Subscription.state == State.ACTIVE.value,
            or_(Subscription.quiet_until.is_(None), Subscription.quiet_until <= now),
        )
    )
    rows = [row for row in connection.execute(found) if row.first_at is not None and row.first_at <= now]
    return sorted(rows, key=lambda row: row.first_at)


def is_any_taken(connection: Connection, now: datetime, until: datetime) -> bool:
    """Whether a sender has taken a delivery and has not brought back what came of it.

    :param until: the latest that what is taken now is due again.
    """
    waiting = _waiting()
    taken = (
        select(Delivery.id)
        .where(
            IS_WAITING,
            Delivery.subscription_id == waiting.c.id,
            Delivery.next_at > now,
            Delivery.next_at <= until,
            Delivery.claims > Delivery.attempts,
        )
        .correlate(waiting)
        .exists()
    )
    return bool(connection.scalar(select(select(waiting.c.id).where(taken).exists())))


def take_due(
    connection: Connection, subscription_id: int, now: datetime, until: datetime, number: int
) -> Sequence[TakenDelivery]:
    """Take deliveries that are due, the longest due first: they are due again at ``until``.

    Those that another sender is just taking are passed over.

    :param number: how many at most.
    """
    picked = (
        select(Delivery.id)
        .where(Delivery.subscription_id == subscription_id, Delivery.next_at <= now)
        .order_by(Delivery.next_at, Delivery.id)
        .limit(number)
        .with_for_update(skip_locked=True)
        .cte("picked")  # a statement of its own: inside of the condition it could be run again
    )
    taken = (
        update(Delivery)
        .where(Delivery.id.in_(select(picked.c.id)))
        .values(next_at=until, claims=Delivery.claims + 1)
        .returning(
            Delivery.id,
            Delivery.message_id,
            Delivery.body,
            Delivery.claims,
            Delivery.attempts,
            Delivery.tries,
        )
    )
    return sorted(connection.execute(taken), key=lambda row: row.id)
