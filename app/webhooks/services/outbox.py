"""Writes deliveries in the transaction of the change that they report, so both are committed or neither."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.db.upserts import append
from app.feed.projection.journal import Published
from app.transfers.status_changes import STATUS_EVENT, StatusChange
from app.webhooks.models import Delivery, delivery_row
from app.webhooks.queries import Listeners, by_subject, listeners, of_alerts
from app.webhooks.subscription import (
    AUDIT_LOG,
    AlertKind,
    account_subject,
    change_body,
    event_body,
    transfer_subject,
)


def publish_changes(connection: Connection, changes: Sequence[Published], now: datetime) -> None:
    """Write the deliveries for changes of projected transfers. The caller is the only writer.

    Without any subscription this is one look-up, and without a change of a status nothing.
    """
    if not changes:
        return
    heard = listeners(connection)
    if not heard.of_everything and not heard.of_subjects:
        return
    rows: list[dict[str, Any]] = []
    for change, subscriptions in _subscribed(connection, changes, heard):
        body = change_body(change, now)
        subject = f"0x{change.transfer_id.hex()}"
        rows += [delivery_row(i, STATUS_EVENT, subject, body, now) for i in subscriptions]
    append(connection, Delivery, rows)


def _subscribed(
    connection: Connection, changes: Iterable[Published], heard: Listeners
) -> list[tuple[StatusChange, list[int]]]:
    """The changes that have subscriptions, each with their ids, ascending."""
    subjects = {each.change: _subjects(each) for each in changes}
    naming = (
        by_subject(connection, {s for each in subjects.values() for s in each}) if heard.of_subjects else {}
    )
    subscribed = []
    for change, about in subjects.items():
        ids = set(heard.of_everything).union(*(naming.get(subject, ()) for subject in about))
        if ids:
            subscribed.append((change, sorted(ids)))
    return subscribed


def _subjects(published: Published) -> list[str]:
    return [transfer_subject(published.change.transfer_id), *map(account_subject, published.accounts)]


def publish_head(connection: Connection, head: str, now: datetime) -> None:
    """Write the alerts with a new head of the audit log. The caller is the only writer.

    :param head: ``ID:MAC``.
    """
    heard = [i for i, kinds in of_alerts(connection) if AlertKind.AUDIT_HEAD in kinds]
    if not heard:
        return
    type_ = f"alert.{AlertKind.AUDIT_HEAD}"
    body = event_body(type_, now, {"subject": AUDIT_LOG, "detail": head, "holds": True})
    append(connection, Delivery, [delivery_row(i, type_, AUDIT_LOG, body, now) for i in heard])
