"""Notes on transfers, which operators write for each other in addition to the facts.

The audit log has who wrote or removed which note, but not its text: a note may name a person, and the audit
log is never deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import delete, func, insert, select

from app.audit.keys import AuditKeys
from app.audit.records import Actor
from app.audit.services import EditRefused, record
from app.db.database import Database
from app.db.engine import reading, writing
from app.transfers.models import NOTE_LENGTH, TransferNote
from app.transfers.queries import anomalies as queries
from app.transfers.queries.status import status_of
from app.values.amounts import grouped
from app.values.identifiers import TransferId

MOST_NOTES = 200
"""On one transfer."""


class NoteRefused(EditRefused):
    """The note cannot be taken as it is, or is not there."""


def transfer_notes(database: Database, transfer_id: TransferId) -> Sequence[queries.NoteRow]:
    """The notes on a transfer, the newest first."""
    with reading(database.reads) as connection:
        return queries.notes_of(connection, transfer_id)


def count_notes(database: Database, transfer_ids: Collection[bytes]) -> dict[bytes, int]:
    """How many notes each of the transfers has; those without any are left out."""
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
            raise NoteRefused("the gateway does not keep this transfer")
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
    """Remove a note, with a record in the audit log.

    :param of_others: whether notes of other accounts may be removed, too.
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
