"""Tells operators who subscribed to it of each head of the audit log."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from app.db.upserts import append
from app.domain.webhooks.changes import event_body
from app.domain.webhooks.subscription import AUDIT_LOG, AlertKind
from app.models.webhooks import Delivery, delivery_row
from app.queries.webhooks import of_alerts


def tell_head(connection: Connection, head: str, now: datetime) -> None:
    """Write what operators are to keep of a new record of the audit log. The caller is the only writer.

    :param head: ``ID:MAC``.
    """
    heard = [i for i, kinds in of_alerts(connection) if AlertKind.AUDIT_HEAD in kinds]
    if not heard:
        return
    type_ = f"alert.{AlertKind.AUDIT_HEAD}"
    body = event_body(type_, now, {"subject": AUDIT_LOG, "detail": head, "holds": True})
    append(connection, Delivery, [delivery_row(i, type_, AUDIT_LOG, body, now) for i in heard])
