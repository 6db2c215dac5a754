"""Taking due deliveries, storing outcomes, sending again, and whether any sender runs."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import orjson
from msgspec import Struct
from sqlalchemy import Connection, Engine, bindparam, or_, update
from sqlalchemy.exc import DBAPIError

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import record
from app.db.database import Database
from app.db.engine import counting, reading, run_read, writing
from app.values.times import rfc3339
from app.webhooks.models import ERROR_LENGTH, Delivery, Subscription
from app.webhooks.queries import (
    DueSubscription,
    TakenDelivery,
    cap_waits,
    delete_of_removed,
    delete_old,
    due_subscriptions,
    is_any_taken,
    make_due,
    send_again,
    subscription,
    switch_off_of_revoked,
    take_due,
)
from app.webhooks.rules.schedule import LONGEST_DELAY, LONGEST_WAIT, RETENTION, next_delay
from app.webhooks.rules.subscription import DeliveryState, State
from app.webhooks.services.subscriptions import NoSubscription, SecretMissing, secrets_of

CLAIM: Final = timedelta(seconds=60)
"""After this a delivery that was taken is due again. An attempt has to end well before that."""

AT_ONCE: Final = 50
"""Subscriptions served by one transaction. On SQLite it blocks other writers."""

_DELETED_AT_ONCE: Final = 1000
_TIMES: Final = 100
"""Most repetitions in one turn: more than a busy gateway needs until the next."""

_GONE: Final = 410


@dataclass(frozen=True, slots=True)
class Due:
    """One delivery to attempt. ``secrets`` is empty where ``fault`` says why it cannot be signed."""

    id: int
    claims: int
    attempts: int
    tries: str | None
    message_id: str
    body: bytes
    subscription_id: int
    url: str
    place: str
    secrets: tuple[bytes, ...] = field(repr=False)
    fault: str = ""


class Outcome(Struct, frozen=True):
    """The outcome of one attempt.

    :param status: of the receiver's answer; None where there was none.
    :param error: why it failed, without the receiver's text; empty where it did not.
    :param retry_after: the wait that the receiver requested.
    """

    due: Due
    at: datetime
    milliseconds: int
    status: int | None = None
    error: str = ""
    retry_after: timedelta | None = None

    @property
    def delivered(self) -> bool:
        """Whether the receiver accepted it."""
        return self.status is not None and 200 <= self.status < 300


class Room(Protocol):
    """Bounds the attempts under way to a place (``host:port``)."""

    def free(self, place: str) -> int:
        """How many more attempts may go there now."""

    def fill(self, place: str, number: int) -> None:
        """Note that so many begin."""


def take(database: Database, audit_keys: AuditKeys, room: Room) -> list[Due]:
    """Take deliveries that are due, as far as there is room for them.

    If the database fails after some were taken, these are returned.
    """
    now = database.clock()
    rows = run_read(database.reads, due_subscriptions, now)
    wanted = [row for row in rows if room.free(row.place) > 0]
    taken: list[Due] = []
    for start in range(0, len(wanted), AT_ONCE):
        try:
            chunk = _take_some(database, audit_keys, wanted[start : start + AT_ONCE], room, now)
        except DBAPIError:
            if taken:
                return taken
            raise
        for place, number in Counter(due.place for due in chunk).items():
            room.fill(place, number)
        taken += chunk
    return taken


def _take_some(
    database: Database, audit_keys: AuditKeys, rows: Sequence[DueSubscription], room: Room, now: datetime
) -> list[Due]:
    """Take due deliveries of some subscriptions, in one transaction."""
    taken: list[Due] = []
    to: Counter[str] = Counter()
    with counting(database.engine) as connection:
        for row in rows:
            free = room.free(row.place) - to[row.place]
            found = take_due(connection, row.id, now, now + CLAIM, free) if free > 0 else ()
            to[row.place] += len(found)
            taken += _due(audit_keys, row, found, now)
    return taken


def _due(
    audit_keys: AuditKeys, row: DueSubscription, found: Sequence[TakenDelivery], now: datetime
) -> Iterable[Due]:
    if not found:
        return
    signing: tuple[bytes, ...] = ()
    fault = ""
    try:
        signing = secrets_of(audit_keys, row, now)
    except SecretMissing as missing:
        fault = str(missing)
    for each in found:
        yield Due(
            id=each.id,
            claims=each.claims,
            attempts=each.attempts,
            tries=each.tries,
            message_id=each.message_id,
            body=each.body.encode("ascii"),
            subscription_id=row.id,
            url=row.url,
            place=row.place,
            secrets=signing,
            fault=fault,
        )


def bring_back(database: Database, outcomes: Sequence[Outcome]) -> None:
    """Store the outcomes of attempts, except of deliveries that another sender took meanwhile."""
    if not outcomes:
        return
    ordered = sorted(outcomes, key=lambda outcome: outcome.due.id)
    with counting(database.engine) as connection:
        connection.execute(
            update(Delivery)
            .where(Delivery.id == bindparam("of"), Delivery.claims == bindparam("taken"))
            .values(
                state=bindparam("new_state"),
                next_at=bindparam("new_next_at"),
                attempts=bindparam("new_attempts"),
                tries=bindparam("new_tries"),
            ),
            [_values(outcome) for outcome in ordered],
        )
        _note_receivers(connection, ordered)


def _values(outcome: Outcome) -> dict[str, Any]:
    due = outcome.due
    attempts = due.attempts + 1
    delay = None
    if not outcome.delivered and outcome.status != _GONE:
        delay = next_delay(attempts, secrets.randbelow(1001) / 1000, outcome.retry_after)
    failed = DeliveryState.FAILED if delay is None else DeliveryState.WAITING
    return {
        "of": due.id,
        "taken": due.claims,
        "new_state": (DeliveryState.DELIVERED if outcome.delivered else failed).value,
        "new_next_at": None if delay is None else outcome.at + delay,
        "new_attempts": attempts,
        "new_tries": _tries(outcome),
    }


def _tries(outcome: Outcome) -> str:
    """The attempts so far including this one, the newest last, up to a bound. A replay adds to them."""
    tries: list[Mapping[str, Any]] = orjson.loads(outcome.due.tries or "[]")
    tries.append(
        {
            "at": rfc3339(outcome.at, "milliseconds"),
            "status": outcome.status,
            "error": outcome.error[:ERROR_LENGTH],
            "ms": outcome.milliseconds,
        }
    )
    return orjson.dumps(tries[-30:]).decode()


def _note_receivers(connection: Connection, outcomes: Iterable[Outcome]) -> None:
    """Switch off subscriptions whose receiver is gone, and store the waits that receivers requested."""
    quiet: dict[int, datetime] = {}
    for outcome in outcomes:
        subscription_id = outcome.due.subscription_id
        if outcome.status == _GONE:
            connection.execute(
                update(Subscription)
                .where(Subscription.id == subscription_id, Subscription.state == State.ACTIVE.value)
                .values(
                    state=State.OFF.value,
                    state_reason="the receiver answered 410 Gone",
                    state_at=outcome.at,
                )
            )
        elif outcome.retry_after is not None and not outcome.delivered:
            until = outcome.at + min(outcome.retry_after, LONGEST_WAIT)
            quiet[subscription_id] = max(until, quiet.get(subscription_id, until))
    for subscription_id, until in sorted(quiet.items()):
        later = or_(Subscription.quiet_until.is_(None), Subscription.quiet_until < until)
        connection.execute(
            update(Subscription).where(Subscription.id == subscription_id, later).values(quiet_until=until)
        )


def clean_up(database: Database) -> None:
    """Delete some old deliveries and removed subscriptions; switch off subscriptions of revoked keys.

    Deliveries that wait longer than possible were written while the clock was ahead. They become due now.
    """
    with counting(database.engine) as connection:
        switch_off_of_revoked(connection, database.clock())
        cap_waits(connection, database.clock(), first=CLAIM, later=LONGEST_DELAY, quiet=LONGEST_WAIT)
    _while_full(counting, database, lambda c: delete_old(c, database.clock() - RETENTION, _DELETED_AT_ONCE))
    _while_full(writing, database, lambda c: delete_of_removed(c, _DELETED_AT_ONCE))


def _while_full(
    begin: Callable[[Engine], AbstractContextManager[Connection]],
    database: Database,
    delete_some: Callable[[Connection], int],
) -> None:
    """Delete in short transactions, so that others can write between them, until a portion is not full."""
    for _ in range(_TIMES):
        with begin(database.engine) as connection:
            deleted = delete_some(connection)
        if deleted < _DELETED_AT_ONCE:
            return


LATE_AFTER: Final = timedelta(minutes=1)
"""A sender takes what is due within a second, and within this time when it starts or restarts."""


def unsent_since(database: Database) -> datetime | None:
    """Since when deliveries are due that no sender takes; None where one seems to run, or nothing is due.

    A sender can be noticed only by what it takes. One that has reached the bound of attempts for a receiver
    leaves further deliveries due. So due deliveries count only while nothing at all is taken.
    """
    now = database.clock()
    with reading(database.reads) as connection:
        # Deliveries that were paused, or waited for a Retry-After, could not be sent before that ended.
        since = min(
            (
                max(filter(None, (row.first_at, row.state_at, row.quiet_until)))
                for row in due_subscriptions(connection, now)
            ),
            default=now,
        )
        if now - since <= LATE_AFTER or is_any_taken(connection, now, now + CLAIM):
            return None
    return since


def replay(
    database: Database,
    audit_keys: AuditKeys,
    public_id: str,
    since: datetime,
    until: datetime,
    *,
    actor: Actor,
    delivered_too: bool = False,
) -> int:
    """Send failed deliveries again that were written from ``since`` to before ``until``; returns how many.

    A receiver recognises repetitions by ``webhook-id``.

    :param delivered_too: also those that the receiver accepted.
    :raises NoSubscription: there is none.
    """
    states = [DeliveryState.FAILED, *([DeliveryState.DELIVERED] if delivered_too else [])]
    with writing(database.engine) as connection:
        row = subscription(connection, public_id)
        if row is None:
            raise NoSubscription(public_id)
        now = database.clock()
        count = send_again(connection, row.id, since, until, states=states, now=now)
        subject = f"webhook {public_id}"
        span = {"since": since.isoformat(), "until": until.isoformat(), "deliveries": count}
        record(
            connection,
            audit_keys,
            actor,
            "webhook.replay",
            subject,
            now=now,
            detail=f"send {count} deliveries again",
            changes=[AuditedChange(subject, None, span)],
        )
    return count


def retry(
    database: Database, audit_keys: AuditKeys, public_id: str, delivery_id: int | None = None, *, actor: Actor
) -> int:
    """Make deliveries due now that wait for their next attempt; returns how many.

    They are sent even where the receiver requested a longer wait. Those due within a minute are not changed,
    because they may be under way.

    :param delivery_id: one delivery, or None for all that wait.
    :raises NoSubscription: there is none of this name.
    """
    with writing(database.engine) as connection:
        row = subscription(connection, public_id)
        if row is None:
            raise NoSubscription(public_id)
        now = database.clock()
        count = make_due(connection, row.id, delivery_id, later_than=now + CLAIM, now=now)
        if count == 0:
            return 0
        mine = update(Subscription).where(Subscription.id == row.id)
        connection.execute(mine.values(quiet_until=None))
        which = f"delivery {delivery_id}" if delivery_id is not None else f"{count} deliveries"
        record(
            connection,
            audit_keys,
            actor,
            "webhook.retry",
            f"webhook {public_id}",
            now=now,
            detail=f"try {which} again now",
        )
    return count
