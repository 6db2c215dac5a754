"""What senders take and bring back. Any number of them may run (docs/decisions/0042-webhooks.md)."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import orjson
from sqlalchemy import Connection, Engine, bindparam, or_, update
from sqlalchemy.exc import DBAPIError

from app.db.engine import ask, counting, writing
from app.domain.times import rfc3339
from app.domain.webhooks.schedule import KEPT, LONGEST_DELAY, LONGEST_WAIT, next_delay
from app.domain.webhooks.subscription import DeliveryState, State
from app.models.webhooks import ERROR_LENGTH, Delivery, Subscription
from app.queries.webhooks import (
    DueSubscription,
    TakenDelivery,
    cap_waits,
    delete_of_removed,
    delete_old,
    due_subscriptions,
    switch_off_of_revoked,
    take_due,
)
from app.runtime.gateway import Gateway
from app.services.webhooks.secrets import SecretMissing, secrets_of

CLAIM: Final = timedelta(seconds=60)
"""After this a delivery that was taken is due again. An attempt has to end well before."""

AT_ONCE: Final = 50
"""Subscriptions served by one transaction: on SQLite nobody else writes meanwhile."""

_DELETED_AT_ONCE: Final = 1000
_TIMES: Final = 100
"""So often at most in one turn: more than a busy gateway writes until the next."""

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt.

    :param status: of the receiver's answer; None where there was none.
    :param error: why it failed, in our words; empty where it did not.
    :param retry_after: what the receiver asked for.
    """

    due: Due
    at: datetime
    milliseconds: int
    status: int | None = None
    error: str = ""
    retry_after: timedelta | None = None

    @property
    def delivered(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


class Room(Protocol):
    """How much may be under way to a place (``host:port``)."""

    def free(self, place: str) -> int:
        """How many more attempts may go there now."""

    def fill(self, place: str, number: int) -> None:
        """Note that so many begin."""


def take(gateway: Gateway, room: Room) -> list[Due]:
    """Take deliveries that are due, as far as there is room for them.

    Where the database fails after some were taken, these are returned.
    """
    now = gateway.clock()
    rows = ask(gateway.reads, due_subscriptions, now)
    wanted = [row for row in rows if room.free(row.place) > 0]
    taken: list[Due] = []
    for start in range(0, len(wanted), AT_ONCE):
        try:
            chunk = _take_some(gateway, wanted[start : start + AT_ONCE], room, now)
        except DBAPIError:
            if taken:
                return taken
            raise
        for place, number in Counter(due.place for due in chunk).items():
            room.fill(place, number)
        taken += chunk
    return taken


def _take_some(gateway: Gateway, rows: Sequence[DueSubscription], room: Room, now: datetime) -> list[Due]:
    """Take what is due to some subscriptions, in one transaction."""
    taken: list[Due] = []
    to: Counter[str] = Counter()
    with counting(gateway.engine) as connection:
        for row in rows:
            free = room.free(row.place) - to[row.place]
            found = take_due(connection, row.id, now, now + CLAIM, free) if free > 0 else ()
            to[row.place] += len(found)
            taken += _due(gateway, row, found, now)
    return taken


def _due(
    gateway: Gateway, row: DueSubscription, found: Sequence[TakenDelivery], now: datetime
) -> Iterable[Due]:
    if not found:
        return
    signing: tuple[bytes, ...] = ()
    fault = ""
    try:
        signing = secrets_of(gateway.audit_keys, row, now)
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


def bring_back(gateway: Gateway, outcomes: Sequence[Outcome]) -> None:
    """Note what came of attempts. Of a delivery that another sender took meanwhile, nothing is noted."""
    if not outcomes:
        return
    ordered = sorted(outcomes, key=lambda outcome: outcome.due.id)
    with counting(gateway.engine) as connection:
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
    """The attempts so far with this one, the newest last; a replay adds to them, up to a bound."""
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
    """Receivers that are gone are switched off; those that want to be left alone are."""
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


def clean_up(gateway: Gateway) -> None:
    """Delete some of what is too old or of removed subscriptions; switch off those of revoked keys.

    What waits longer than it can was written by a clock that was ahead, and corrected since: it is due.
    """
    with counting(gateway.engine) as connection:
        switch_off_of_revoked(connection, gateway.clock())
        cap_waits(connection, gateway.clock(), first=CLAIM, later=LONGEST_DELAY, quiet=LONGEST_WAIT)
    _while_full(counting, gateway, lambda c: delete_old(c, gateway.clock() - KEPT, _DELETED_AT_ONCE))
    _while_full(writing, gateway, lambda c: delete_of_removed(c, _DELETED_AT_ONCE))


def _while_full(
    begin: Callable[[Engine], AbstractContextManager[Connection]],
    gateway: Gateway,
    delete_some: Callable[[Connection], int],
) -> None:
    """Delete in short transactions, between which others write, until there is no full portion left."""
    for _ in range(_TIMES):
        with begin(gateway.engine) as connection:
            deleted = delete_some(connection)
        if deleted < _DELETED_AT_ONCE:
            return
