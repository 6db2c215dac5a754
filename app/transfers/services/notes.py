"""What operators note on transfers, and on stuck transfers and anomalies that they acknowledge.

The audit log has who wrote or removed which note on a transfer, but not its text: a note may name a
person, and the audit log is never deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, update

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import Conflict, EditRefused, Saved, fingerprint, record, require_unchanged
from app.db.database import Database
from app.db.engine import reading, writing
from app.db.upserts import upsert
from app.transfers import models as table
from app.transfers.models import ACKNOWLEDGEMENT_LENGTH, NOTE_LENGTH, StuckAcknowledgement, TransferNote
from app.transfers.queries import anomalies as queries
from app.transfers.queries.anomalies import AnomalyRow, anomalies_by_id
from app.transfers.queries.lists import ListedTransfer, transfers_with_ids
from app.transfers.queries.status import COUNTED, count_in_state, status_of, waiting_between
from app.transfers.rules.stuck import STATUSES, MustAct, Thresholds
from app.values.amounts import grouped
from app.values.identifiers import TransferId
from app.values.texts import one_line

MOST_NOTES = 200
"""On one transfer."""


class NoteRefused(EditRefused):
    """The note cannot be taken as it is, or is not there."""


def transfer_notes(database: Database, transfer_id: TransferId) -> Sequence[queries.NoteRow]:
    with reading(database.reads) as connection:
        return queries.notes_of(connection, transfer_id)


def count_notes(database: Database, transfer_ids: Collection[bytes]) -> dict[bytes, int]:
    with reading(database.reads) as connection:
        return queries.count_notes(connection, transfer_ids) if transfer_ids else {}


def add_note(
    database: Database,
    audit_keys: AuditKeys,
    transfer_id: TransferId,
    text: str,
    *,
    operator_id: int,
    actor: Actor,
) -> None:
    """Add a note, with a record in the audit log.

    :param text: 1 to 2,000 characters, with line breaks.
    :raises NoteRefused: the text is empty or too long, there is no such transfer, or it has too many notes.
    """
    said = _cleaned(text)
    if not 0 < len(said) <= NOTE_LENGTH:
        raise NoteRefused(
            f"write a note of 1 to {grouped(NOTE_LENGTH)} characters; this has {grouped(len(said))}"
        )
    with writing(database.engine) as connection:
        if status_of(connection, transfer_id) is None:
            raise NoteRefused("the gateway does not store this transfer")
        table = TransferNote
        count = connection.scalar(select(func.count()).where(table.transfer_id == transfer_id)) or 0
        if count >= MOST_NOTES:
            raise NoteRefused(
                f"a transfer has at most {MOST_NOTES} notes: remove one that is no longer needed"
            )
        now = database.clock()
        row = {"transfer_id": transfer_id, "operator_id": operator_id, "at": now, "text": said}
        note_id = connection.scalar(insert(table).values(row).returning(table.id))
        record(
            connection,
            audit_keys,
            actor,
            "transfer.note",
            _subject(transfer_id),
            now=now,
            detail=f"add note {note_id}",
        )


def remove_note(
    database: Database,
    audit_keys: AuditKeys,
    transfer_id: TransferId,
    note_id: int,
    *,
    operator_id: int,
    of_others: bool,
    actor: Actor,
) -> None:
    """Remove a note, with a record in the audit log. ``of_others``: whether notes of other accounts may be
    removed, too.

    :raises NoteRefused: there is no such note, or somebody else wrote it.
    """
    with writing(database.engine) as connection:
        author = queries.note_author(connection, transfer_id, note_id)
        if author is None:
            raise NoteRefused("this note was removed already")
        if author != operator_id and not of_others:
            raise NoteRefused("only its author or an administrator can remove a note")
        connection.execute(delete(TransferNote).where(TransferNote.id == note_id))
        record(
            connection,
            audit_keys,
            actor,
            "transfer.remove_note",
            _subject(transfer_id),
            now=database.clock(),
            detail=f"remove note {note_id}",
        )


def _cleaned(text: str) -> str:
    r"""Lines end with ``\n``; what is not printable becomes a space, except the ends of lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(
        "".join(character if character.isprintable() else " " for character in line).rstrip()
        for line in lines
    ).strip()


def _subject(transfer_id: TransferId) -> str:
    return f"transfer 0x{transfer_id.hex()}"


def acknowledge(
    database: Database, audit_keys: AuditKeys, shown: Mapping[int, str], *, actor: Actor
) -> Saved:
    """Acknowledge the anomalies, all of them or none, with a record in the audit log. Those acknowledged
    already keep their first operator and time.

    :param shown: by the id of each, its fingerprint as the operator was shown it (``anomaly_fingerprint``).
    :raises Conflict: one of them is gone, or rests on other events now.
    """
    with writing(database.engine) as connection:
        now = database.clock()
        rows = {row.id: row for row in anomalies_by_id(connection, shown)}
        for anomaly_id, shown_fingerprint in shown.items():
            row = rows.get(anomaly_id)
            if row is None:
                raise Conflict("one of the anomalies no longer exists: reload the list", ())
            require_unchanged(f"the anomaly of {row.subject}", shown_fingerprint, _facts(row))
        waiting = [row for row in rows.values() if row.acknowledged_at is None]
        if not waiting:
            return Saved((), None)
        connection.execute(
            update(table.Anomaly)
            .where(table.Anomaly.id.in_([row.id for row in waiting]))
            .values(acknowledged_at=now, acknowledged_by=actor.name)
        )
        record_id = record(
            connection,
            audit_keys,
            actor,
            "anomaly.acknowledge",
            waiting[0].subject if len(waiting) == 1 else f"{grouped(len(waiting))} anomalies",
            now=now,
            detail=_sentence(waiting),
            changes=[_change(row, now, actor) for row in waiting],
        )
    return Saved(tuple(f"acknowledge {row.kind} of {row.subject}" for row in waiting), record_id)


def anomaly_fingerprint(row: AnomalyRow | table.Anomaly) -> str:
    return fingerprint(_facts(row))


def _facts(row: AnomalyRow | table.Anomaly) -> dict[str, Any]:
    """What must not have changed since the anomaly was shown: the events it follows from. One without events,
    such as a pool under zero, is reported again with every transfer: its time and figures may change.
    """
    facts = {"kind": row.kind, "subject": row.subject, "event_ids": list(row.event_ids)}
    return facts | {"last_at": row.last_at.isoformat()} if row.event_ids else facts


def _sentence(rows: list[AnomalyRow]) -> str:
    if len(rows) == 1:
        return f"acknowledge {rows[0].kind} of {rows[0].subject}: {rows[0].detail}"
    return f"acknowledge {grouped(len(rows))} anomalies"


def _change(row: AnomalyRow, now: datetime, actor: Actor) -> AuditedChange:
    facts = _facts(row) | {"detail": row.detail}
    acknowledged = {"acknowledged_at": now.isoformat(), "acknowledged_by": actor.name}
    return AuditedChange(row.subject, facts | dict.fromkeys(acknowledged), facts | acknowledged)


NEW_FOR: Final = timedelta(days=1)
"""How long after it became stuck a transfer is called new."""


def count_stuck(database: Database, who: MustAct, thresholds: Thresholds) -> tuple[int, int | None]:
    """How many transfers are stuck and not acknowledged, and how many of them became stuck within
    ``NEW_FOR``.

    The first is exact while it is under ``COUNTED``; the second is None where it is not.
    """
    statuses, now = [int(status) for status in STATUSES[who]], database.clock()
    surely, surely_before = (_surely_stuck(thresholds, at) for at in (now, now - NEW_FOR))
    with reading(database.reads) as connection:
        number = count_in_state(connection, statuses, surely)
        if number == COUNTED:
            return number, None
        lately = count_in_state(connection, statuses, surely, after=surely_before)
        undecided = _stuck_by_pair(connection, statuses, thresholds, now)
        before = _stuck_by_pair(connection, statuses, thresholds, now - NEW_FOR)
    return min(number + undecided, COUNTED), lately + undecided - before


def _surely_stuck(thresholds: Thresholds, at: datetime) -> datetime:
    """The time since which transfers of any chains were stuck at a given time.

    A transfer is stuck when it lasts longer than it may, not when it lasts as long.
    """
    return at - thresholds.longest - timedelta(microseconds=1)


def _stuck_by_pair(
    connection: Connection, statuses: Sequence[int], thresholds: Thresholds, at: datetime
) -> int:
    """How many of the others were stuck at that time, where the pair of chains decides."""
    rows = waiting_between(connection, statuses, _surely_stuck(thresholds, at), at - thresholds.least)
    return sum(at - row.status_since > thresholds.allowed(row.src_chain_id, row.dst_chain_id) for row in rows)


def acknowledge_stuck(
    database: Database, audit_keys: AuditKeys, shown: Mapping[bytes, str], note: str, *, actor: Actor
) -> Saved:
    """Acknowledge these stuck transfers, all of them or none, with a record in the audit log.

    It holds while they stay in the state that was shown. Another acknowledgement replaces the note.

    :param shown: by the id of each its fingerprint as it was shown (``stuck_fingerprint``).
    :param note: what was found or done, up to 500 characters.
    :raises NoteRefused: there is no note, or it is too long.
    :raises Conflict: one of them has moved on since, or is gone.
    """
    said = _usable(note)
    with writing(database.engine) as connection:
        now = database.clock()
        rows = _unmoved(connection, shown)
        columns = {"note": said, "at": now, "by": actor.name}
        upsert(connection, StuckAcknowledgement, [_stored_state(row) | columns for row in rows])
        record_id = record(
            connection,
            audit_keys,
            actor,
            "transfer.acknowledge",
            _what(rows),
            now=now,
            detail=said,
            changes=[
                AuditedChange(_named(row), _state(row) | {"note": None}, _state(row) | {"note": said})
                for row in rows
            ],
        )
    return Saved((f"acknowledge {_what(rows)}",), record_id)


def _usable(note: str) -> str:
    """In one line. Raises NoteRefused where it is empty or too long."""
    said = one_line(note)
    if not 0 < len(said) <= ACKNOWLEDGEMENT_LENGTH:
        raise NoteRefused(f"enter a note of 1 to {ACKNOWLEDGEMENT_LENGTH} characters: what was found or done")
    return said


def _unmoved(connection: Connection, shown: Mapping[bytes, str]) -> list[ListedTransfer]:
    """The transfers that were shown. Raises Conflict where one of them has moved on since, or is gone."""
    rows = {row.transfer_id: row for row in transfers_with_ids(connection, [*shown])}
    for transfer_id, shown_fingerprint in shown.items():
        row = rows.get(transfer_id)
        if row is None:
            raise Conflict(f"transfer 0x{transfer_id.hex()} does not exist any more", ())
        require_unchanged(_named(row), shown_fingerprint, _state(row))
    return [*rows.values()]


def stuck_fingerprint(row: ListedTransfer) -> str:
    return fingerprint(_state(row))


def _state(row: ListedTransfer) -> dict[str, Any]:
    return {"status": int(row.status), "status_since": row.status_since.isoformat()}


def _stored_state(row: ListedTransfer) -> dict[str, Any]:
    return {"transfer_id": row.transfer_id, "status": row.status, "status_since": row.status_since}


def _named(row: ListedTransfer) -> str:
    return f"transfer 0x{row.transfer_id.hex()}"


def _what(rows: Sequence[ListedTransfer]) -> str:
    return _named(rows[0]) if len(rows) == 1 else f"{grouped(len(rows))} transfers"
