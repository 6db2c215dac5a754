"""Acknowledging stuck transfers: an operator notes what was done, so that new ones stand out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.db.engine import writing
from app.db.upserts import upsert
from app.domain.amounts import grouped
from app.domain.audit import Actor, AuditedChange
from app.models.anomalies import NOTE_LENGTH, StuckAcknowledgement
from app.queries.transfers.lists import ListedTransfer, transfers_with_ids
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint, require_unchanged
from app.services.audit.record import record
from app.services.audit.results import Conflict, EditRefused, Saved


class NoteRefused(EditRefused):
    """The note is missing or too long."""


def acknowledge_stuck(gateway: Gateway, shown: Mapping[bytes, str], note: str, *, actor: Actor) -> Saved:
    """Note that somebody has seen to these transfers: all of them or none, with a record in the audit log.

    It holds while they stay in the state that was shown. Acknowledging one again replaces the note.

    :param shown: by the id of each its fingerprint as it was shown (``stuck_fingerprint``).
    :param note: what was found or done, up to 500 characters.
    :raises NoteRefused: there is no note, or it is too long.
    :raises Conflict: one of them has moved on since, or is gone.
    """
    said = " ".join(note.replace("\0", " ").split())
    if not 0 < len(said) <= NOTE_LENGTH:
        raise NoteRefused(f"enter a note of 1 to {NOTE_LENGTH} characters: what was found or done")
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        rows = {row.transfer_id: row for row in transfers_with_ids(connection, [*shown])}
        for transfer_id, shown_fingerprint in shown.items():
            row = rows.get(transfer_id)
            if row is None:
                raise Conflict(f"transfer 0x{transfer_id.hex()} does not exist any more", ())
            require_unchanged(_subject(row), shown_fingerprint, _state(row))
        upsert(
            connection,
            StuckAcknowledgement,
            [
                {
                    "transfer_id": row.transfer_id,
                    "status": row.status,
                    "status_since": row.status_since,
                    "note": said,
                    "at": now,
                    "by": actor.name,
                }
                for row in rows.values()
            ],
        )
        record_id = record(
            connection,
            gateway.audit_keys,
            actor,
            "transfer.acknowledge",
            _what([*rows.values()]),
            now=now,
            detail=said,
            changes=[
                AuditedChange(_subject(row), _state(row) | {"note": None}, _state(row) | {"note": said})
                for row in rows.values()
            ],
        )
    return Saved((f"acknowledge {_what([*rows.values()])}",), record_id)


def stuck_fingerprint(row: ListedTransfer) -> str:
    """The fingerprint of a stuck transfer that is shown, for the acknowledgement to hand back."""
    return fingerprint(_state(row))


def _state(row: ListedTransfer) -> dict[str, Any]:
    return {"status": int(row.status), "status_since": row.status_since.isoformat()}


def _subject(row: ListedTransfer) -> str:
    return f"transfer 0x{row.transfer_id.hex()}"


def _what(rows: Sequence[ListedTransfer]) -> str:
    return _subject(rows[0]) if len(rows) == 1 else f"{grouped(len(rows))} transfers"
