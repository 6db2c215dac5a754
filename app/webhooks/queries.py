"""Reads and changes subscriptions, due deliveries and the outcomes of deliveries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, delete, exists, func, literal, or_, select, update

from app.credentials.models import ApiKey
from app.db.types import MOST_IN_STATEMENT, at_most, is_one_of
from app.transfers.queries.status import COUNTED
from app.webhooks.models import IS_WAITING, Alert, Delivery, Subject, Subscription
from app.webhooks.rules.subscription import AlertKind, Audience, DeliveryState, State


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


DueSubscription = Row[*tuple[Any, ...]]
"""The columns of a subscription, and ``first_at``: the time at which its first delivery is or was due."""

TakenDelivery = Row[*tuple[Any, ...]]


def _waiting() -> Any:
    """The subscriptions with waiting deliveries, found by one step of the index each.

    The number of deliveries that wait for a subscription does not matter.
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
    """The subscriptions with due deliveries that may be sent to, the longest due first."""
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
    """Whether a sender has taken a delivery and has not stored its outcome.

    :param until: the latest time at which a delivery that is taken now is due again.
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
    """Take due deliveries, the longest due first. They become due again at ``until``.

    Those that another sender is taking now are skipped.

    :param number: how many at most.
    """
    picked = (
        select(Delivery.id)
        .where(Delivery.subscription_id == subscription_id, Delivery.next_at <= now)
        .order_by(Delivery.next_at, Delivery.id)
        .limit(number)
        .with_for_update(skip_locked=True)
        .cte("picked")  # a separate statement: inside of the condition it could run several times
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


_HEARD = Subscription.state.in_((State.ACTIVE.value, State.PAUSED.value))
_OF_EVERYTHING = select(Subscription.id).where(Subscription.audience == Audience.EVERYTHING.value, _HEARD)
_ANY_SUBJECT = 0
_LISTENERS = _OF_EVERYTHING.union_all(
    select(literal(_ANY_SUBJECT)).where(exists(select(Subject.subscription_id)))
)


class Listeners(Struct, frozen=True):
    """Subscriptions to every transfer, and whether any names accounts or transfers."""

    of_everything: tuple[int, ...]
    of_subjects: bool


def listeners(connection: Connection) -> Listeners:
    """Who subscribed to transfers, in one statement that reads very little."""
    found = connection.scalars(_LISTENERS).all()
    return Listeners(tuple(sorted(i for i in found if i != _ANY_SUBJECT)), _ANY_SUBJECT in found)


def by_subject(connection: Connection, subjects: Collection[str]) -> dict[str, list[int]]:
    """The subscriptions that name a subject and get its events, by subject."""
    found: dict[str, list[int]] = {}
    ordered = sorted(subjects)
    for start in range(0, len(ordered), MOST_IN_STATEMENT):
        chunk = ordered[start : start + MOST_IN_STATEMENT]
        rows = connection.execute(
            select(Subject.subject, Subject.subscription_id)
            .join(Subscription, Subscription.id == Subject.subscription_id)
            .where(is_one_of(connection, Subject.subject, chunk), _HEARD)
        )
        for row in rows:
            found.setdefault(row.subject, []).append(row.subscription_id)
    return found


def of_alerts(connection: Connection) -> Sequence[tuple[int, list[AlertKind]]]:
    """The subscriptions of operators, with the alerts that each wants."""
    rows = connection.execute(
        select(Subscription.id, Subscription.alerts).where(
            Subscription.audience == Audience.ALERTS.value, _HEARD
        )
    )
    return [(row.id, [AlertKind(kind) for kind in row.alerts or ()]) for row in rows]


DeliveryRow = Row[*tuple[Any, ...]]
"""The columns of ``webhook_deliveries``."""

_DELIVERIES = Delivery.__table__


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
    found = select(_DELIVERIES).where(Delivery.subscription_id == subscription_id)
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
    """Make deliveries of a span of time due again, beginning with their first attempt; returns how many.

    Those that wait already are not changed.
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
    """Make deliveries due whose next attempt is far off; returns how many. Their attempts still count.

    :param delivery_id: one of them, or None for all of the subscription.
    :param later_than: those due before this are not changed, because a sender may have taken them.
    """
    due = update(Delivery).where(
        Delivery.subscription_id == subscription_id, IS_WAITING, Delivery.next_at > later_than
    )
    if delivery_id is not None:
        due = due.where(Delivery.id == delivery_id)
    return connection.execute(due.values(next_at=now)).rowcount


def delete_old(connection: Connection, before: datetime, number: int) -> int:
    """Delete at most ``number`` deliveries that were written before a time; returns how many."""
    old = select(Delivery.id).where(Delivery.created_at < before).order_by(Delivery.created_at).limit(number)
    return connection.execute(delete(Delivery).where(Delivery.id.in_(old))).rowcount


def delete_of_removed(connection: Connection, number: int) -> int:
    """Delete some deliveries of removed subscriptions, and those without any left; returns how many."""
    removed = select(Subscription.id).where(Subscription.state == State.REMOVED.value)
    some = select(Delivery.id).where(Delivery.subscription_id.in_(removed)).limit(number)
    gone = connection.execute(delete(Delivery).where(Delivery.id.in_(some))).rowcount
    if gone == 0:
        connection.execute(delete(Subscription).where(Subscription.state == State.REMOVED.value))
    return gone


def switch_off_of_revoked(connection: Connection, now: datetime) -> int:
    """Switch off the subscriptions whose API key was revoked; returns how many."""
    valid = exists().where(ApiKey.key_id == Subscription.owner_key, ApiKey.revoked_at.is_(None))
    heard = Subscription.state.in_((State.ACTIVE.value, State.PAUSED.value))
    off = update(Subscription).where(Subscription.owner_key.is_not(None), heard, ~valid)
    values = {"state": State.OFF.value, "state_reason": "its API key was revoked", "state_at": now}
    return connection.execute(off.values(values)).rowcount


def cap_waits(
    connection: Connection, now: datetime, *, first: timedelta, later: timedelta, quiet: timedelta
) -> None:
    """End waits that are longer than possible, so that what waits is due.

    :param first: the longest wait for a first attempt; ``later`` for a further one, ``quiet`` for a receiver.
    """
    untried = (Delivery.attempts == 0) & (Delivery.next_at > now + first)
    too_late = or_(untried, Delivery.next_at > now + later)
    connection.execute(update(Delivery).where(IS_WAITING, too_late).values(next_at=now))
    connection.execute(
        update(Subscription).where(Subscription.quiet_until > now + quiet).values(quiet_until=None)
    )


def holding_alerts(connection: Connection) -> dict[tuple[str, str], str]:
    """The details of the published alerts that still hold, by kind and subject."""
    rows = connection.execute(select(Alert.kind, Alert.subject, Alert.detail))
    return {(row.kind, row.subject): row.detail for row in rows}


SubscriptionRow = Row[*tuple[Any, ...]]
"""The columns of ``webhook_subscriptions``."""

_SUBSCRIPTIONS = Subscription.__table__
_THERE = Subscription.state != State.REMOVED.value


def subscription(connection: Connection, public_id: str) -> SubscriptionRow | None:
    """The subscription of this name, unless it was removed."""
    if "\0" in public_id:  # in an address; PostgreSQL compares no text with it
        return None
    found = select(_SUBSCRIPTIONS).where(Subscription.public_id == public_id, _THERE)
    return connection.execute(found).one_or_none()


def subscriptions(connection: Connection, limit: int, after: int = 0) -> Sequence[SubscriptionRow]:
    """The subscriptions with an id above ``after``, the oldest first."""
    return connection.execute(
        select(_SUBSCRIPTIONS).where(_THERE, Subscription.id > after).order_by(Subscription.id).limit(limit)
    ).all()


def subscriptions_of(connection: Connection, owner_key: str) -> Sequence[SubscriptionRow]:
    """The subscriptions of an API key, the oldest first."""
    return connection.execute(
        select(_SUBSCRIPTIONS).where(_THERE, Subscription.owner_key == owner_key).order_by(Subscription.id)
    ).all()


def subjects_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    """The subjects of each subscription, ascending."""
    found: dict[int, list[str]] = {i: [] for i in ids}
    rows = connection.execute(
        select(Subject.subscription_id, Subject.subject)
        .where(Subject.subscription_id.in_(ids))
        .order_by(Subject.subject)
    )
    for row in rows:
        found[row.subscription_id].append(row.subject)
    return found


def last_ended_of(connection: Connection, ids: Sequence[int], most: int) -> dict[int, DeliveryState]:
    """How the newest ended one of the last ``most`` deliveries of each subscription ended.

    Subscriptions without one are left out.
    """
    newest = (
        select(Delivery.id, Delivery.state)
        .where(Delivery.subscription_id == Subscription.id)
        .order_by(Delivery.id.desc())
        .limit(most)
        .correlate(Subscription)
        .subquery()
    )
    ended = select(newest.c.state).where(newest.c.state != DeliveryState.WAITING)
    state = ended.order_by(newest.c.id.desc()).limit(1).scalar_subquery()
    rows = connection.execute(select(Subscription.id, state.label("state")).where(Subscription.id.in_(ids)))
    return {row.id: DeliveryState(row.state) for row in rows if row.state is not None}


def waiting_of(connection: Connection, ids: Sequence[int], most: int) -> dict[int, tuple[int, int]]:
    """How many deliveries of each subscription wait, counted up to ``most``, and how many of these failed at
    their last attempt.
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
