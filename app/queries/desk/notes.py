"""Which notes are there on transfers?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from app.domain.keys import TransferId
from app.models.desk.notes import TransferNote
from app.models.operators import Operator


class NoteRow(NamedTuple):
    """A note. ``by`` is the email of the account ``operator_id``."""

    id: int
    at: datetime
    operator_id: int
    by: str
    text: str


def notes_of(connection: Connection, transfer_id: TransferId) -> Sequence[NoteRow]:
    """The notes on a transfer, the newest first."""
    note = TransferNote
    columns = (note.id, note.at, note.operator_id, Operator.email, note.text)
    rows = connection.execute(
        select(*columns)
        .join(Operator, Operator.id == note.operator_id)
        .where(note.transfer_id == transfer_id)
        .order_by(note.id.desc())
    )
    return [NoteRow(*row) for row in rows]


def count_notes(connection: Connection, transfer_ids: Collection[bytes]) -> dict[bytes, int]:
    """How many notes each of the transfers has; those without any are left out."""
    note = TransferNote
    rows = connection.execute(
        select(note.transfer_id, func.count())
        .where(note.transfer_id.in_(transfer_ids))
        .group_by(note.transfer_id)
    )
    return {transfer_id: count for transfer_id, count in rows}  # noqa: C416  rows are no pairs to mypy


def note_author(connection: Connection, transfer_id: TransferId, note_id: int) -> int | None:
    """The account that wrote this note on this transfer; None where there is no such note."""
    note = TransferNote
    return connection.scalar(
        select(note.operator_id).where(note.id == note_id, note.transfer_id == transfer_id)
    )
