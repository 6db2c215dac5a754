"""Sending again what was written in a span of time, with the same ids."""

from __future__ import annotations

from datetime import datetime

from app.domain.audit import Actor, AuditedChange
from app.domain.webhooks.subscription import DeliveryState
from app.models.engine import writing
from app.queries.webhooks.log import send_again
from app.queries.webhooks.subscriptions import subscription
from app.runtime.gateway import Gateway
from app.services.audit.record import record
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
