"""Subscriptions to webhooks: made, rotated, paused, resumed, removed, and the secrets that they sign with.

The keys are those of the audit log. They are stored outside of the database, and former ones can be retained
when they are replaced (docs/decisions/0042-webhooks.md).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange, key_id
from app.audit.services import record
from app.db.database import Database
from app.db.engine import writing
from app.webhooks.models import ACTOR_LENGTH, REASON_LENGTH, Delivery, Subject, Subscription, delivery_row
from app.webhooks.queries import SubscriptionRow, subscription
from app.webhooks.rules.addresses import AddressRefused, AllowedNetworks, Target, checked_addresses, parse_url
from app.webhooks.rules.schedule import OLD_SECRET_LASTS
from app.webhooks.rules.subscription import (
    MAX_NAME,
    MAX_SUBJECTS,
    MAX_SUBSCRIPTIONS,
    TEST_EVENT,
    AlertKind,
    Audience,
    State,
    event_body,
    secret_of,
    secret_text,
)


class SecretMissing(Exception):
    """The key that a secret is derived from is not configured."""


def new_salt(keys: AuditKeys) -> dict[str, Any]:
    """The columns of a new secret.

    :raises AuditKeyUnusable: there is no key.
    """
    return {"salt": secrets.token_bytes(32), "key_id": key_id(keys.present)}


def secrets_of(keys: AuditKeys, row: Row[*tuple[Any, ...]], now: datetime) -> tuple[bytes, ...]:
    """The secrets that sign for a subscription now: its own, and the former one while that is being replaced.

    :raises SecretMissing: the key of its secret is not configured any more.
    :raises AuditKeyUnusable: there is no key at all.
    """
    if row.key_id not in keys.by_id:
        raise SecretMissing(
            f"its secret follows from the key {row.key_id}, which is not configured: rotate it"
        )
    found = [secret_of(keys.by_id[row.key_id], row.salt)]
    if row.old_salt is not None and row.old_until > now and row.old_key_id in keys.by_id:
        found.append(secret_of(keys.by_id[row.old_key_id], row.old_salt))
    return tuple(found)


class SubscriptionRefused(ValueError):
    """Nothing was changed; the message says why. ``field`` names the field that has to change, if any."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class NoSubscription(Exception):
    """There is no subscription of this name, or it belongs to somebody else."""


class NewSubscription(Struct, frozen=True):
    """A requested subscription.

    :param subjects: as ``app.webhooks.rules.subscription.subjects_of`` returns them.
    :param owner_key: the API key that requests it; None for operators.
    """

    url: str
    audience: Audience
    name: str = ""
    subjects: Sequence[str] = ()
    alerts: Sequence[AlertKind] = ()
    owner_key: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A subscription that was made or whose secret was replaced. The secret is shown only this once."""

    public_id: str
    secret: str = field(repr=False)


def subscribe(
    database: Database,
    audit_keys: AuditKeys,
    allowed: AllowedNetworks,
    wanted: NewSubscription,
    *,
    actor: Actor | None,
) -> Made:
    """Make a subscription. All changes committed after this returns are sent to it.

    :param actor: the operator who is audited; None where the API key itself requests it.
    :raises SubscriptionRefused: the URL or what is subscribed to cannot be used, or the key has too many.
    :raises AuditKeyUnusable: there is no key for its secret.
    """
    target = _checked(allowed, wanted)
    public_id = f"whk_{secrets.token_hex(8)}"
    with writing(database.engine) as connection:
        now = database.clock()
        if wanted.owner_key is not None:
            _refuse_too_many(connection, wanted.owner_key)
        values = _columns(wanted, target, actor, now) | new_salt(audit_keys)
        connection.execute(insert(Subscription), values | {"public_id": public_id})
        row = _row(connection, public_id, wanted.owner_key)
        if wanted.subjects:
            connection.execute(
                insert(Subject), [{"subject": each, "subscription_id": row.id} for each in wanted.subjects]
            )
        after = _audited(row) | {"subjects": len(wanted.subjects)}
        _record(connection, database, audit_keys, actor, "create", row, before=None, after=after)
        secret = secrets_of(audit_keys, row, now)[0]
    return Made(public_id, secret_text(secret))


def _columns(wanted: NewSubscription, target: Target, actor: Actor | None, now: datetime) -> dict[str, Any]:
    """The columns of a new subscription, without its name and its secret."""
    return {
        "owner_key": wanted.owner_key,
        "name": wanted.name,
        "url": target.url,
        "place": target.place,
        "audience": wanted.audience.value,
        "alerts": [kind.value for kind in wanted.alerts] or None,
        "state": State.ACTIVE.value,
        "state_reason": "",
        "state_at": now,
        "created_at": now,
        "created_by": "its API key" if actor is None else actor.name[:ACTOR_LENGTH],
    }


def rotate(
    database: Database, audit_keys: AuditKeys, public_id: str, *, actor: Actor, owner_key: str | None = None
) -> Made:
    """Replace the secret. For a day both sign, so that the receiver has time to change.

    :raises NoSubscription: there is none.
    """
    with writing(database.engine) as connection:
        now = database.clock()
        row = _row(connection, public_id, owner_key)
        values = new_salt(audit_keys)
        old = {"old_salt": row.salt, "old_key_id": row.key_id, "old_until": now + OLD_SECRET_LASTS}
        _set(connection, row.id, **values, **old)
        _record(
            connection,
            database,
            audit_keys,
            actor,
            "rotate",
            row,
            before={"secret": "former"},
            after={"secret": "new"},
        )
        secret = secrets_of(audit_keys, _row(connection, public_id, owner_key), now)[0]
    return Made(public_id, secret_text(secret))


def switch(
    database: Database,
    audit_keys: AuditKeys,
    public_id: str,
    state: State,
    *,
    actor: Actor | None,
    owner_key: str | None = None,
    reason: str = "",
) -> None:
    """Pause a subscription, switch it off, resume it, or remove it.

    :param reason: why it is not active, for those who look at it.
    :raises NoSubscription: there is none.
    """
    with writing(database.engine) as connection:
        row = _row(connection, public_id, owner_key)
        if row.state == state.value:
            return
        _set_state(connection, row.id, state, reason, database.clock())
        before = {"state": row.state}
        _record(
            connection,
            database,
            audit_keys,
            actor,
            state.value,
            row,
            before=before,
            after={"state": state.value},
        )


def send_test(database: Database, public_id: str, owner_key: str | None = None) -> None:
    """Write a delivery without content, to see whether it arrives.

    :raises NoSubscription: there is none.
    """
    with writing(database.engine) as connection:
        row, now = _row(connection, public_id, owner_key), database.clock()
        body = event_body(TEST_EVENT, now, {"webhook_id": public_id})
        connection.execute(insert(Delivery), delivery_row(row.id, TEST_EVENT, "", body, now))


def _checked(allowed: AllowedNetworks, wanted: NewSubscription) -> Target:
    try:
        target = parse_url(wanted.url)
    except ValueError as error:
        raise SubscriptionRefused(str(error), "url") from None
    _check_address(allowed, target)
    if len(wanted.name) > MAX_NAME or not wanted.name.isprintable():
        raise SubscriptionRefused(
            f"must have at most {MAX_NAME} characters, all of which can be printed", "name"
        )
    if len(wanted.subjects) > MAX_SUBJECTS:
        raise SubscriptionRefused(
            f"must be at most {MAX_SUBJECTS} accounts and transfers together", "accounts"
        )
    if wanted.audience is Audience.SUBJECTS and not wanted.subjects:
        raise SubscriptionRefused("name accounts or transfers", "accounts")
    if wanted.audience is Audience.ALERTS and not wanted.alerts:
        raise SubscriptionRefused("choose alerts", "alerts")
    return target


def _check_address(allowed: AllowedNetworks, target: Target) -> None:
    """Refuse at once an address that each attempt would refuse. Only the sender resolves names."""
    networks = allowed
    if target.plain and not networks:
        raise SubscriptionRefused(
            "must begin with https; http is for networks that the operator names in WEBHOOK_ALLOW_NETWORKS",
            "url",
        )
    try:
        address = ip_address(target.host)
    except ValueError:
        return
    try:
        checked_addresses([str(address)], networks, plain=target.plain)
    except AddressRefused as refused:
        raise SubscriptionRefused(f"cannot be sent to: {refused}", "url") from None


def _refuse_too_many(connection: Connection, owner_key: str) -> None:
    mine = select(func.count()).select_from(Subscription)
    there = Subscription.state != State.REMOVED.value
    if (connection.scalar(mine.where(Subscription.owner_key == owner_key, there)) or 0) >= MAX_SUBSCRIPTIONS:
        raise SubscriptionRefused(f"an API key has at most {MAX_SUBSCRIPTIONS} webhooks: remove one first")


def _row(connection: Connection, public_id: str, owner_key: str | None) -> SubscriptionRow:
    """The subscription; of an API key only its own.

    :param owner_key: None for operators, who may change any.
    """
    row = subscription(connection, public_id)
    if row is None or owner_key not in (None, row.owner_key):
        raise NoSubscription(public_id)
    return row


def _set(connection: Connection, subscription_id: int, **values: Any) -> None:
    connection.execute(update(Subscription).where(Subscription.id == subscription_id).values(**values))


def _set_state(
    connection: Connection, subscription_id: int, state: State, reason: str, now: datetime
) -> None:
    """Set the state. A removed subscription retains its row, but not its subjects."""
    if state is State.REMOVED:
        connection.execute(delete(Subject).where(Subject.subscription_id == subscription_id))
    columns = {"state": state.value, "state_reason": reason[:REASON_LENGTH], "state_at": now}
    _set(connection, subscription_id, **columns, quiet_until=None)


def _audited(row: SubscriptionRow) -> dict[str, Any]:
    names = ("name", "url", "audience", "alerts", "state", "owner_key")
    return {name: getattr(row, name) for name in names}


def _record(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    actor: Actor | None,
    action: str,
    row: SubscriptionRow,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any],
) -> None:
    """Changes by operators are audited. An API key's changes of its own subscriptions are not."""
    if actor is None:
        return
    subject = f"webhook {row.public_id}"
    record(
        connection,
        audit_keys,
        actor,
        f"webhook.{action}",
        subject,
        now=database.clock(),
        detail=f"{action} {row.name or row.public_id}",
        changes=[AuditedChange(subject, before, after)],
    )
