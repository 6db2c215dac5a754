"""Writes audit records, in the transaction of what they record; reads and exports them; detects conflicts.

A page that shows a row carries the fingerprint of its values in a hidden field. The edit sends it back, so
that it cannot overwrite a change made meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Connection, insert

from app.audit import models as table
from app.audit.keys import AuditKeys
from app.audit.queries import (
    AuditRow,
    audit_chunk,
    audit_ends,
    audit_head,
    audit_page,
    audit_record,
    sealed_record,
)
from app.audit.rules.records import (
    EVERYTHING,
    HEADS_LOGGER,
    NO_MAC,
    Actor,
    AuditedChange,
    AuditFilter,
    AuditRecord,
    RecordUnreadable,
    SealedRecord,
    changes_text,
    export_line,
    head_text,
    key_id,
    read_changes,
    seal,
)
from app.db.database import Database
from app.db.engine import HandedIn, after_commit, reading, reading_consistently, writing
from app.values.differences import FieldDifference, difference


class Saved(Struct, frozen=True):
    """The changes that were made, a sentence each, and the id of their audit record; None if nothing changed.

    With ``proposal_id`` they were not made but proposed, and wait for a second operator. ``brief`` is a
    shorter text for a message; empty if ``changes`` are short enough.
    """

    changes: tuple[str, ...]
    record_id: int | None
    proposal_id: int | None = None
    brief: str = ""


class EditRefused(Exception):
    """Why an edit is refused, in words for the operator. Nothing has changed."""


class NotConfirmed(EditRefused):
    """The name ``needs_typed`` had to be typed, but was not."""

    def __init__(self, needs_typed: str) -> None:
        super().__init__(f"type {needs_typed} to confirm")
        self.needs_typed = needs_typed


class Conflict(EditRefused):
    """The row was changed after it was shown. ``meanwhile`` is how it differs now from what was shown."""

    def __init__(self, message: str, meanwhile: tuple[FieldDifference, ...]) -> None:
        super().__init__(message)
        self.meanwhile = meanwhile


MAX_FINGERPRINT: Final = 4_000_000
"""Characters. A row has some hundreds, ten thousand fees have about a million."""


def fingerprint(values: Mapping[str, Any]) -> str:
    """The values as text for a hidden field. Equal values have equal fingerprints.

    It contains the values, so that a conflict can show what changed meanwhile.
    """
    return base64.urlsafe_b64encode(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).decode()


def require_unchanged(subject: str, shown: str | None, now: Mapping[str, Any] | None) -> None:
    """Make sure that the values are still those that the operator has seen.

    :param subject: the name of what is edited, for the message.
    :param shown: the fingerprint that the edit sent back.
    :param now: the present values; None where the row was removed.
    :raises Conflict: with what changed meanwhile.
    """
    values = shown_values(shown)
    if now is None:
        raise Conflict(f"{subject} was removed while you were editing", difference(values, None))
    if values is None or values != now:
        raise Conflict(
            f"{subject} was changed while you were editing; check it, then repeat your change",
            () if values is None else difference(values, now),
        )


def shown_values(shown: str | None) -> dict[str, Any] | None:
    """The values in a fingerprint; None for any text that is not a fingerprint."""
    if not shown or len(shown) > MAX_FINGERPRINT:
        return None
    try:
        values = orjson.loads(base64.urlsafe_b64decode(shown.encode()))
    except (binascii.Error, ValueError):
        return None
    return values if isinstance(values, dict) else None


HEAD_WRITTEN: Final = HandedIn[[str, datetime], None]("audit_head")
"""Called when a new record is the end of the log, with its head as ``ID:MAC``, and the time."""

DETAIL_LENGTH = 1000

_log = logging.getLogger(HEADS_LOGGER)


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
    """Add a record of one operation, in the transaction of what it did. Returns its id.

    Callers choose what the record holds, and must not pass secrets.

    :param connection: opened by ``writing``: its lock lets no other record in between.
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
    sealed = SealedRecord(**asdict(new), mac=mac, key_id=key_id(key))
    connection.execute(insert(table.AuditRecord), asdict(sealed))
    connection.execute(insert(table.AuditSubject), _subjects(new.id, new.subject, changes))
    # Logged outside of the database, too, to detect a log whose end was cut off (audit verify --head).
    head = head_text(new.id, mac)
    after_commit(connection, lambda: _log.info("audit head %s %s by %s", head, action, new.actor))
    after_commit(connection, lambda: keys.anchors.note(head, now))
    HEAD_WRITTEN(connection, head, now)
    return new.id


def record_change(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    actor: Actor,
    action: str,
    change: AuditedChange,
    *,
    note: str = "",
) -> int:
    """Add a record of a change of one thing, in the transaction of the change. Returns its id.

    :param action: the kind of thing and what was done to it, such as ``api_key.revoke``.
    :param note: why, in the operator's words.
    """
    return record(
        connection,
        audit_keys,
        actor,
        action,
        change.subject,
        now=database.clock(),
        detail=": ".join(filter(None, (note, f"{action.partition('.')[2]} {change.subject}"))),
        changes=[change],
    )


def as_recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns and their values as a record holds them: times as text."""
    return {
        column: value.isoformat() if isinstance(value, datetime) else value
        for column, value in values.items()
    }


def record_separately(
    database: Database, audit_keys: AuditKeys, actor: Actor, action: str, subject: str, *, detail: str = ""
) -> int:
    """Add a record of an operation that wrote nothing else, in its own transaction. Returns its id."""
    with writing(database.engine) as connection:
        return record(connection, audit_keys, actor, action, subject, now=database.clock(), detail=detail)


def _subjects(record_id: int, subject: str, changes: Sequence[AuditedChange]) -> list[dict[str, Any]]:
    """The subjects that the record is found by: its own, and that of each row that it changed."""
    touched = {_storable(each, table.SUBJECT_LENGTH) for each in (subject, *(c.subject for c in changes))}
    lowered = {each.lower()[: table.SUBJECT_LENGTH] for each in touched}
    return [{"record_id": record_id, "subject": each} for each in sorted(lowered)]


def _storable(text: str, length: int) -> str:
    """The text as both databases can store it: no NUL, no lone surrogate, no longer than the column."""
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return clean if len(clean) <= length else clean[: length - 1] + "…"


class AuditEntry(Struct, frozen=True):
    """One record: its columns, and its changes read from their text."""

    record: AuditRow
    changes: tuple[AuditedChange, ...]


def list_audit(
    database: Database, wanted: AuditFilter = EVERYTHING, *, before: int | None = None, limit: int = 50
) -> Sequence[AuditRow]:
    """A page of records, newest first, without changes; ``before`` is the last id of the page before."""
    with reading(database.reads) as connection:
        return audit_page(connection, wanted, before, limit)


def show_audit(database: Database, record_id: int) -> AuditEntry | None:
    """One record with its changes; None where there is none."""
    with reading(database.reads) as connection:
        row = audit_record(connection, record_id)
    return None if row is None else AuditEntry(row, read_changes(row.changes))


class ArchivedMeanwhile(Exception):
    """Records left the log for an archive before they were exported."""


def export_audit(database: Database, wanted: AuditFilter = EVERYTHING) -> Iterator[bytes]:
    """The records as lines of JSON, oldest first, with everything that verification needs but the key.

    The export has the records that exist when it begins. No connection is held while a line is sent, however
    slow its reader is.

    :raises RecordUnreadable: the next one cannot be read.
    :raises ArchivedMeanwhile: the next ones are gone.
    """
    with reading(database.engine) as connection:
        ends = audit_ends(connection)
    last: int | None = None
    while ends is not None and (last is None or last < ends[1]):
        rows: list[AuditRow] = []
        fault: RecordUnreadable | None = None
        with reading_consistently(database.engine) as connection:
            there = audit_ends(connection)
            if there is None or there[0] > max(ends[0], (last or 0) + 1):
                raise ArchivedMeanwhile("records were archived while they were exported: export them again")
            try:
                # extend keeps the rows before one that cannot be read: they are sent before the error.
                rows.extend(audit_chunk(connection, wanted, after=last, up_to=ends[1]))
            except RecordUnreadable as unreadable:
                fault = unreadable
        for row in rows:
            yield export_line(sealed_record(row))
            last = row.id
        if fault is not None:
            raise fault
        if not rows:
            return
