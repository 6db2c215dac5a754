"""What became of the deliveries of a subscription?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, or_, select, update

from app.domain.webhooks.subscription import DeliveryState, State
from app.models.api_keys import ApiKey
from app.models.webhooks.deliveries import IS_WAITING, Alert, Delivery
from app.models.webhooks.subscriptions import Subscription

DeliveryRow = Row[*tuple[Any, ...]]
"""The columns of ``webhook_deliveries``."""

_TABLE = Delivery.__table__


def deliveries(
    connection: Connection,
    subscription_id: int,
    limit: int,
    before: int | None = None,
    state: DeliveryState | None = None,
) -> Sequence[DeliveryRow]:
    """Deliveries of a subscription, the newest first.

    :param before: the id of the last of the page before.
    """
    found = select(_TABLE).where(Delivery.subscription_id == subscription_id)
    if before is not None:
        found = found.where(Delivery.id < before)
    if state is not None:
        found = found.where(Delivery.state == state.value)
    return connection.execute(found.order_by(Delivery.id.desc()).limit(limit)).all()


def send_again(
    connection: Connection,
    subscription_id: int,
    since: datetime,
    until: datetime,
    *,
    states: Sequence[DeliveryState],
    now: datetime,
) -> int:
    """Make deliveries that were written in a span of time due again, from their first attempt; how many.

    Those that wait already stay as they are.
    """
    again = (
        update(Delivery)
        .where(
            Delivery.subscription_id == subscription_id,
            Delivery.created_at >= since,
            Delivery.created_at < until,
            Delivery.next_at.is_(None),
            Delivery.state.in_([state.value for state in states]),
        )
        .values(state=DeliveryState.WAITING.value, next_at=now, attempts=0)
    )
    return connection.execute(again).rowcount


def make_due(
    connection: Connection,
    subscription_id: int,
    delivery_id: int | None,
    *,
    later_than: datetime,
    now: datetime,
) -> int:
    """Make deliveries due whose next attempt is far off; how many. Their attempts count on.

    :param delivery_id: one of them, or None for all of the subscription.
    :param later_than: those that are due before stay as they are: a sender may have taken them.
    """
    due = update(Delivery).where(
        Delivery.subscription_id == subscription_id, IS_WAITING, Delivery.next_at > later_than
    )
    if delivery_id is not None:
        due = due.where(Delivery.id == delivery_id)
    return connection.execute(due.values(next_at=now)).rowcount


def delete_old(connection: Connection, before: datetime, number: int) -> int:
    """Delete deliveries that were written before a time, some of them; how many."""
    old = select(Delivery.id).where(Delivery.created_at < before).order_by(Delivery.created_at).limit(number)
    return connection.execute(delete(Delivery).where(Delivery.id.in_(old))).rowcount


def delete_of_removed(connection: Connection, number: int) -> int:
    """Delete deliveries of removed subscriptions, some of them, and those that have none left; how many."""
    removed = select(Subscription.id).where(Subscription.state == State.REMOVED.value)
    some = select(Delivery.id).where(Delivery.subscription_id.in_(removed)).limit(number)
    gone = connection.execute(delete(Delivery).where(Delivery.id.in_(some))).rowcount
    if gone == 0:
        connection.execute(delete(Subscription).where(Subscription.state == State.REMOVED.value))
    return gone


def switch_off_of_revoked(connection: Connection, now: datetime) -> int:
    """Switch the subscriptions off whose API key was revoked; how many."""
    valid = exists().where(ApiKey.key_id == Subscription.owner_key, ApiKey.revoked_at.is_(None))
    heard = Subscription.state.in_((State.ACTIVE.value, State.PAUSED.value))
    off = update(Subscription).where(Subscription.owner_key.is_not(None), heard, ~valid)
    values = {"state": State.OFF.value, "state_reason": "its API key was revoked", "state_at": now}
    return connection.execute(off.values(values)).rowcount


def cap_waits(
    connection: Connection, now: datetime, *, first: timedelta, later: timedelta, quiet: timedelta
) -> None:
    """Make due what waits for longer than deliveries and subscriptions can.

    :param first: the longest wait for a first attempt; ``later`` for a further one, ``quiet`` for a receiver.
    """
    untried = (Delivery.attempts == 0) & (Delivery.next_at > now + first)
    too_late = or_(untried, Delivery.next_at > now + later)
    connection.execute(update(Delivery).where(IS_WAITING, too_late).values(next_at=now))
    connection.execute(
        update(Subscription).where(Subscription.quiet_until > now + quiet).values(quiet_until=None)
    )


def holding_alerts(connection: Connection) -> dict[tuple[str, str], str]:
    """The details of the alerts that were told and still hold, by kind and subject."""
    rows = connection.execute(select(Alert.kind, Alert.subject, Alert.detail))
    return {(row.kind, row.subject): row.detail for row in rows}
