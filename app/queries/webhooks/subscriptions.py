"""Which subscriptions are there, and whose?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.domain.webhooks.subscription import State
from app.models.webhooks.deliveries import IS_WAITING, Delivery
from app.models.webhooks.subscriptions import Subject, Subscription

SubscriptionRow = Row[*tuple[Any, ...]]
"""The columns of ``webhook_subscriptions``."""

_TABLE = Subscription.__table__
_THERE = Subscription.state != State.REMOVED.value


def subscription(connection: Connection, public_id: str) -> SubscriptionRow | None:
    """The one of this name, unless it was removed."""
    found = select(_TABLE).where(Subscription.public_id == public_id, _THERE)
    return connection.execute(found).one_or_none()


def subscriptions(connection: Connection, limit: int, after: int = 0) -> Sequence[SubscriptionRow]:
    """All of them, the oldest first, from the one behind ``after``."""
    return connection.execute(
        select(_TABLE).where(_THERE, Subscription.id > after).order_by(Subscription.id).limit(limit)
    ).all()


def subscriptions_of(connection: Connection, owner_key: str) -> Sequence[SubscriptionRow]:
    """Those of an API key, the oldest first."""
    return connection.execute(
        select(_TABLE).where(_THERE, Subscription.owner_key == owner_key).order_by(Subscription.id)
    ).all()


def subjects_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    """By subscription what it names, ascending."""
    found: dict[int, list[str]] = {i: [] for i in ids}
    rows = connection.execute(
        select(Subject.subscription_id, Subject.subject)
        .where(Subject.subscription_id.in_(ids))
        .order_by(Subject.subject)
    )
    for row in rows:
        found[row.subscription_id].append(row.subject)
    return found


def waiting_of(connection: Connection, ids: Sequence[int], most: int) -> dict[int, tuple[int, int]]:
    """By subscription how many deliveries wait for it, counted up to ``most``, and how many of these failed
    at their last attempt.
    """
    some = (
        select(Delivery.attempts)
        .where(IS_WAITING, Delivery.subscription_id == Subscription.id)
        .limit(most)
        .correlate(Subscription)
        .subquery()
    )
    count = select(func.count()).select_from(some).scalar_subquery()
    failed = select(func.count()).select_from(some).where(some.c.attempts > 0).scalar_subquery()
    found = select(Subscription.id, count.label("waiting"), failed.label("failing"))
    rows = connection.execute(found.where(Subscription.id.in_(ids)))
    return {row.id: (row.waiting, row.failing) for row in rows}
