"""Subscriptions and their deliveries, to be shown. They contain no secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct
from sqlalchemy import Connection

from app.db.database import Database
from app.db.engine import reading
from app.webhooks.queries import (
    SubscriptionRow,
    deliveries,
    last_ended_of,
    subjects_of,
    subscription,
    subscriptions,
    subscriptions_of,
    waiting_of,
)
from app.webhooks.rules.subscription import AlertKind, Audience, DeliveryState, State
from app.webhooks.services.subscriptions import NoSubscription

PAGE: Final = 50
MOST_LISTED: Final = 1000
MOST_COUNTED: Final = 1000
"""Waiting deliveries are counted up to this."""


class Shown(Struct, frozen=True, kw_only=True):
    """A subscription. ``waiting`` counts up to ``MOST_COUNTED`` deliveries, of which ``failing`` failed.

    ``last`` is how the newest delivery ended that has ended; None where none of the newest has.
    """

    public_id: str
    name: str
    url: str
    audience: Audience
    alerts: tuple[AlertKind, ...]
    accounts: tuple[str, ...]
    transfer_ids: tuple[str, ...]
    state: State
    state_reason: str
    state_at: datetime
    quiet_until: datetime | None
    old_until: datetime | None
    created_at: datetime
    created_by: str
    owner_key: str | None
    waiting: int
    failing: int
    last: DeliveryState | None


class ShownDelivery(Struct, frozen=True, kw_only=True):
    """A delivery and its attempts, each with ``at``, ``status``, ``error`` and ``ms``."""

    id: int
    message_id: str
    type: str
    subject: str
    body: str
    created_at: datetime
    state: DeliveryState
    next_at: datetime | None
    attempts: int
    tries: Sequence[Mapping[str, Any]]

    @property
    def failing(self) -> bool:
        """Whether its last attempt failed and another one follows."""
        return self.state is DeliveryState.WAITING and self.attempts > 0


def list_subscriptions(database: Database, owner_key: str | None = None) -> list[Shown]:
    """The subscriptions of an API key, with None all, up to ``MOST_LISTED``; the oldest first."""
    with reading(database.reads) as connection:
        rows = (
            subscriptions(connection, MOST_LISTED)
            if owner_key is None
            else subscriptions_of(connection, owner_key)
        )
        return _shown(connection, rows)


def show_subscription(database: Database, public_id: str) -> Shown:
    """One subscription.

    :raises NoSubscription: there is none of this name.
    """
    with reading(database.reads) as connection:
        return _shown(connection, [_row(connection, public_id)])[0]


def delivery_log(
    database: Database, public_id: str, before: int | None = None, state: DeliveryState | None = None
) -> list[ShownDelivery]:
    """A page of the deliveries of a subscription, the newest first.

    :param before: the id of the last delivery of the page before.
    :raises NoSubscription: there is none of this name.
    """
    with reading(database.reads) as connection:
        rows = deliveries(connection, _row(connection, public_id).id, PAGE, before, state)
    return [
        ShownDelivery(
            id=row.id,
            message_id=row.message_id,
            type=row.type,
            subject=row.subject,
            body=row.body,
            created_at=row.created_at,
            state=DeliveryState(row.state),
            next_at=row.next_at,
            attempts=row.attempts,
            tries=orjson.loads(row.tries or "[]"),
        )
        for row in rows
    ]


def _row(connection: Connection, public_id: str) -> SubscriptionRow:
    row = subscription(connection, public_id)
    if row is None:
        raise NoSubscription(public_id)
    return row


def _shown(connection: Connection, rows: Sequence[SubscriptionRow]) -> list[Shown]:
    ids = [row.id for row in rows]
    subjects, waiting = subjects_of(connection, ids), waiting_of(connection, ids, MOST_COUNTED)
    last = last_ended_of(connection, ids, MOST_COUNTED)
    columns = (
        "public_id", "name", "url", "state_reason", "state_at", "quiet_until", "old_until", "created_at",
        "created_by", "owner_key",
    )  # fmt: skip
    return [
        Shown(
            **{name: getattr(row, name) for name in columns},
            audience=Audience(row.audience),
            alerts=tuple(AlertKind(kind) for kind in row.alerts or ()),
            accounts=_named(subjects[row.id], "account:"),
            transfer_ids=_named(subjects[row.id], "transfer:"),
            state=State(row.state),
            waiting=waiting[row.id][0],
            failing=waiting[row.id][1],
            last=last.get(row.id),
        )
        for row in rows
    ]


def _named(subjects: Sequence[str], prefix: str) -> tuple[str, ...]:
    return tuple(subject.removeprefix(prefix) for subject in subjects if subject.startswith(prefix))
