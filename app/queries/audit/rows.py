"""Which records of the audit log changed one row of the network configuration?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, exists, or_, select

from app.domain.audit import NETWORK_CHANGES, SANDBOX_LOADED
from app.models.audit import SUBJECT_LENGTH, AuditRecord, AuditSubject
from app.queries.audit.records import CHUNK, AuditRow
from app.queries.transfers.bounds import at_most

_TABLE = AuditRecord.__table__

_MADE: Final = or_(AuditRecord.action.startswith(NETWORK_CHANGES), AuditRecord.action == SANDBOX_LOADED)
"""Records of changes that were made: ``app.domain.audit.changes_network`` as SQL."""

_CHANGES: Final = 500
"""Records whose changes alone are read at a time."""


def records_of_row(
    connection: Connection, subject: str, *, before: int | None = None, limit: int = CHUNK
) -> list[AuditRow]:
    """The newest records with an id under ``before`` that changed the row, alone or among others.

    There may be records among them that changed only a row whose name differs in letter case.

    :param subject: the row as the log names it, such as ``chain 56``.
    """
    query = select(_TABLE).where(_MADE, _names(subject)).order_by(AuditRecord.id.desc()).limit(at_most(limit))
    if before is not None:
        query = query.where(AuditRecord.id < before)
    return list(connection.execute(query))


def record_of_made(connection: Connection, record_id: int) -> AuditRow | None:
    """The record with its changes; None where there is none, or they were only proposed."""
    return connection.execute(select(_TABLE).where(AuditRecord.id == record_id, _MADE)).one_or_none()


def network_changes_since(connection: Connection, since: datetime) -> Iterator[str]:
    """The changes, as records hold them, that were made to the network after a time; newest first.

    Some are in memory at a time: a record of an import may hold every row.
    """
    last: int | None = None
    while True:
        query = select(AuditRecord.id, AuditRecord.changes).where(_MADE, AuditRecord.at > since)
        if last is not None:
            query = query.where(AuditRecord.id < last)
        rows = connection.execute(query.order_by(AuditRecord.id.desc()).limit(at_most(_CHANGES))).all()
        if not rows:
            return
        for row in rows:
            yield row.changes
        last = rows[-1].id


def maker_of_row_at(connection: Connection, subject: str, at: datetime) -> tuple[str, int] | None:
    """Who changed the row at exactly this time, and the id of the record of it; None where no record tells.

    The texts of the records are not read: the pages that ask for it are many, and an import's text is long.
    """
    query = select(AuditRecord.actor, AuditRecord.id).where(AuditRecord.at == at, _MADE, _names(subject))
    row = connection.execute(query.order_by(AuditRecord.id.desc()).limit(1)).one_or_none()
    return None if row is None else (row.actor, row.id)


def _names(subject: str) -> ColumnElement[bool]:
    """Whether the record is about the subject or changed it, in any letter case."""
    named = AuditSubject.subject == subject.lower()[:SUBJECT_LENGTH]
    return exists().where(AuditSubject.record_id == AuditRecord.id, named)
