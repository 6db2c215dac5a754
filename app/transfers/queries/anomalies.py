"""Reads anomalies of transfers, notes on them, and who reported each event."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from app.accounts.models import Operator
from app.db.types import at_most
from app.transfers.models import Anomaly, ContradictedReport, Event, TransferNote
from app.transfers.queries.status import COUNTED
from app.values.identifiers import TransferId

AnomalyRow = Row[*tuple[Any, ...]]
"""The columns of ``anomalies``."""

_TABLE = Anomaly.__table__


def anomalies_by_id(connection: Connection, ids: Collection[int]) -> list[AnomalyRow]:
    return list(connection.execute(select(_TABLE).where(Anomaly.id.in_(ids)).order_by(Anomaly.id)))


def anomalies_of(connection: Connection, transfer_id: TransferId) -> Sequence[AnomalyRow]:
    """The anomalies of a transfer, acknowledged ones too, the newest first."""
    return connection.execute(
        select(_TABLE).where(Anomaly.transfer_id == transfer_id).order_by(Anomaly.last_at.desc())
    ).all()


def open_anomalies(connection: Connection, size: int) -> Sequence[AnomalyRow]:
    """The anomalies that are not acknowledged, the newest first."""
    found = select(_TABLE).where(Anomaly.acknowledged_at.is_(None))
    return connection.execute(
        found.order_by(Anomaly.last_at.desc(), Anomaly.id.desc()).limit(at_most(size))
    ).all()


def first_open_anomalies(connection: Connection, size: int) -> Sequence[AnomalyRow]:
    """The same, the oldest first: one that is new or raised again does not push others out of the result."""
    found = select(_TABLE).where(Anomaly.acknowledged_at.is_(None))
    return connection.execute(found.order_by(Anomaly.id).limit(size)).all()


def count_open_anomalies(connection: Connection) -> int:
    """How many anomalies are not acknowledged; counted up to ``COUNTED``."""
    some = select(Anomaly.id).where(Anomaly.acknowledged_at.is_(None)).limit(COUNTED).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def contradicted_by_reporter(connection: Connection) -> dict[str, int]:
    """How many of each reporter's reports are of logs that their blocks do not have, among ``COUNTED``."""
    some = select(ContradictedReport.reporter).limit(COUNTED).subquery()
    found = connection.execute(select(some.c.reporter, func.count()).group_by(some.c.reporter))
    return {row[0]: row[1] for row in found}


def open_anomalies_by_kind(connection: Connection) -> dict[str, int]:
    """How many anomalies of each kind are not acknowledged; in all counted up to ``COUNTED``."""
    some = select(Anomaly.kind).where(Anomaly.acknowledged_at.is_(None)).limit(COUNTED).subquery()
    return dict(connection.execute(select(some.c.kind, func.count()).group_by(some.c.kind)).all())


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
    """The number of notes by transfer; transfers without any are left out."""
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


MOST_EVENTS = 1_000
"""The most entries that are read of one transfer. Most logs have about twenty."""


def receipts(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    """Position in the log, reporter and time of receipt of each acceptance, in the order of the log."""
    return connection.execute(
        select(Event.seq, Event.reporter, Event.received_at)
        .where(Event.transfer_id == transfer_id)
        .order_by(Event.seq)
        .limit(MOST_EVENTS)
    ).all()


def entries_at(connection: Connection, positions: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    wanted = select(
        Event.seq, Event.event_id, Event.type, Event.reporter, Event.chain_id, Event.block, Event.body
    )
    return connection.execute(wanted.where(Event.seq.in_(positions))).all()
