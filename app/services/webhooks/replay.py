"""Sending again with the same ids: what was written in a span of time, or what waits for its next attempt."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update

from app.db.engine import writing
from app.domain.audit import Actor, AuditedChange
from app.domain.webhooks.subscription import DeliveryState
from app.models.webhooks import Subscription
from app.queries.webhooks import make_due, send_again, subscription
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.webhooks.delivering import CLAIM
from app.services.webhooks.subscriptions import NoSubscription


def replay(
    gateway: Gateway,
    public_id: str,
    since: datetime,
    until: datetime,
    *,
    actor: Actor,
    delivered_too: bool = False,
) -> int:
    """Send again what was written from ``since`` on and before ``until``, and failed; how many deliveries.

    A receiver knows what it has had already by ``webhook-id``.

    :param delivered_too: also what the receiver has taken.
    :raises NoSubscription: there is none.
    """
    states = [DeliveryState.FAILED, *([DeliveryState.DELIVERED] if delivered_too else [])]
    with writing(gateway.engine) as connection:
        row = subscription(connection, public_id)
        if row is None:
            raise NoSubscription(public_id)
        now = gateway.clock()
        count = send_again(connection, row.id, since, until, states=states, now=now)
        subject = f"webhook {public_id}"
        span = {"since": since.isoformat(), "until": until.isoformat(), "deliveries": count}
        record(
            connection,
            gateway.audit_keys,
            actor,
            "webhook.replay",
            subject,
            now=now,
            detail=f"send {count} deliveries again",
            changes=[AuditedChange(subject, None, span)],
        )
    return count


def retry(gateway: Gateway, public_id: str, delivery_id: int | None = None, *, actor: Actor) -> int:
    """Make due now what waits for its next attempt; how many deliveries.

    It is sent even where the receiver asked to be left alone for longer. What is due within a minute stays as
    it is: it may be under way.

    :param delivery_id: one delivery, or None for all that wait.
    :raises NoSubscription: there is none of this name.
    """
    with writing(gateway.engine) as connection:
        row = subscription(connection, public_id)
        if row is None:
            raise NoSubscription(public_id)
        now = gateway.clock()
        count = make_due(connection, row.id, delivery_id, later_than=now + CLAIM, now=now)
        if count == 0:
            return 0
        mine = update(Subscription).where(Subscription.id == row.id)
        connection.execute(mine.values(quiet_until=None))
        which = f"delivery {delivery_id}" if delivery_id is not None else f"{count} deliveries"
        record(
            connection,
            gateway.audit_keys,
            actor,
            "webhook.retry",
            f"webhook {public_id}",
            now=now,
            detail=f"try {which} again now",
        )
    return count
