"""Which subscriptions hear of what?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, exists, literal, select

from app.domain.webhooks.subscription import AlertKind, Audience, State
from app.models.choice import is_one_of
from app.models.webhooks.subscriptions import Subject, Subscription
from app.queries.feed.keys import MOST_IN_STATEMENT

_HEARD = Subscription.state.in_((State.ACTIVE.value, State.PAUSED.value))
_OF_EVERYTHING = select(Subscription.id).where(Subscription.audience == Audience.EVERYTHING.value, _HEARD)
_ANY_SUBJECT = 0
_LISTENERS = _OF_EVERYTHING.union_all(
    select(literal(_ANY_SUBJECT)).where(exists(select(Subject.subscription_id)))
)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Subscriptions to every transfer, and whether any names accounts or transfers."""

    of_everything: tuple[int, ...]
    of_subjects: bool


def listeners(connection: Connection) -> Listeners:
    """Who hears of transfers at all, in one statement that reads next to nothing."""
    found = connection.scalars(_LISTENERS).all()
    return Listeners(tuple(sorted(i for i in found if i != _ANY_SUBJECT)), _ANY_SUBJECT in found)


def by_subject(connection: Connection, subjects: Collection[str]) -> dict[str, list[int]]:
    """By subject the subscriptions that name it and are heard."""
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
