"""Recording what operators do, in the transaction in which they do it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from app.db.engine import after_commit, writing
from app.domain.audit import (
    NO_MAC,
    Actor,
    AuditedChange,
    AuditRecord,
    changes_text,
    head_text,
    key_id,
    seal,
)
from app.models import audit as table
from app.queries.audit import audit_head
from app.runtime.audit_keys import AuditKeys
from app.runtime.gateway import Gateway
from app.services.audit.told import tell_head

DETAIL_LENGTH = 1000

_log = logging.getLogger(__name__)


def record(
    connection: Connection,
    keys: AuditKeys,
    actor: Actor,
    action: str,
    subject: str,
    *,
    now: datetime,
    detail: str = "",
    changes: Sequence[AuditedChange] = (),
) -> int:
    """Add a record of one operation, in the transaction of what it did; its id.

    Callers choose what the record holds, and must not pass secrets.

    :param connection: opened by ``writing``: its lock lets no other record get between.
    :param action: the kind of subject and what was done to it, such as ``network.edit``.
    :param detail: one sentence for lists, cut at 1000 characters.
    :raises AuditKeyUnusable: there is no key. The caller's transaction must then not commit.
    """
    key = keys.present
    last_id, last_mac = audit_head(connection) or (0, NO_MAC)
    new = AuditRecord(
        id=last_id + 1,
        at=now,
        actor=_storable(actor.name, table.ACTOR_LENGTH),
        source=actor.source.value,
        address=None if actor.address is None else _storable(actor.address, table.ADDRESS_LENGTH),
        action=action,
        subject=_storable(subject, table.SUBJECT_LENGTH),
        detail=_storable(detail, DETAIL_LENGTH),
        changes=changes_text(changes),
    )
    mac = seal(key, last_mac, new)
    connection.execute(
        insert(table.AuditRecord).values(
            id=new.id,
            at=new.at,
            actor=new.actor,
            source=new.source,
            address=new.address,
            action=new.action,
            subject=new.subject,
            detail=new.detail,
            changes=new.changes,
            mac=mac,
            key_id=key_id(key),
        )
    )
    connection.execute(insert(table.AuditSubject), _subjects(new.id, new.subject, changes))
    # Logged outside the database too, to notice a log whose end was cut off (audit verify --head).
    head = head_text(new.id, mac)
    after_commit(connection, lambda: _log.info("audit head %s %s by %s", head, action, new.actor))
    after_commit(connection, lambda: keys.anchors.note(head, now))
    tell_head(connection, head, now)
    return new.id


def record_change(
    connection: Connection,
    gateway: Gateway,
    actor: Actor,
    action: str,
    change: AuditedChange,
    *,
    note: str = "",
) -> int:
    """Add a record of a change of one thing, in the transaction of the change; its id.

    :param action: the kind of thing and what was done to it, such as ``api_key.revoke``.
    :param note: why, in the words of whoever did it.
    """
    return record(
        connection,
        gateway.audit_keys,
        actor,
        action,
        change.subject,
        now=gateway.clock(),
        detail=": ".join(filter(None, (note, f"{action.partition('.')[2]} {change.subject}"))),
        changes=[change],
    )


def as_recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns and their values as a record holds them: times as text."""
    return {
        column: value.isoformat() if isinstance(value, datetime) else value
        for column, value in values.items()
    }


def record_alone(gateway: Gateway, actor: Actor, action: str, subject: str, *, detail: str = "") -> int:
    """Add a record of an operation that wrote nothing else, in a transaction of its own."""
    with writing(gateway.engine) as connection:
        return record(
            connection, gateway.audit_keys, actor, action, subject, now=gateway.clock(), detail=detail
        )


def _subjects(record_id: int, subject: str, changes: Sequence[AuditedChange]) -> list[dict[str, Any]]:
    """What the record is found by: its subject, and that of each row that it changed."""
    touched = {_storable(each, table.SUBJECT_LENGTH) for each in (subject, *(c.subject for c in changes))}
    folded = {each.lower()[: table.SUBJECT_LENGTH] for each in touched}
    return [{"record_id": record_id, "subject": each} for each in sorted(folded)]


def _storable(text: str, length: int) -> str:
    """The text as both databases can store it: no NUL, no lone surrogate, no longer than the column."""
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return clean if len(clean) <= length else clean[: length - 1] + "…"
