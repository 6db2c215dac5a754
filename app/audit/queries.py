"""Selects records of the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, exists, func, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import InstrumentedAttribute

from app.audit.models import SUBJECT_LENGTH, AuditRecord, AuditSubject
from app.audit.rules.records import (
    ARCHIVED,
    EVERYTHING,
    NETWORK_CHANGES,
    SANDBOX_LOADED,
    UP_TO,
    AuditFilter,
    RecordUnreadable,
    SealedRecord,
)
from app.db.types import at_most

CHUNK = 100
"""Records read at a time. A single one can be large: an import may change a hundred thousand rows."""

_UNREADABLE: Final = (ValueError, TypeError, OverflowError, DBAPIError)
"""How reading a row fails that was changed outside of the gateway: an invalid time, a text that is not UTF-8.
"""


AuditRow = Row[*tuple[Any, ...]]
"""The columns of ``audit_records``; those of a page without ``changes``."""

_TABLE = AuditRecord.__table__
_LISTED = [column for column in _TABLE.c if column.name != "changes"]


def sealed_record(row: AuditRow) -> SealedRecord:
    """The record of a row with all columns."""
    return SealedRecord(**row._mapping)


def audit_head(connection: Connection) -> tuple[int, bytes] | None:
    """Id and MAC of the last record."""
    row = connection.execute(
        select(AuditRecord.id, AuditRecord.mac).order_by(AuditRecord.id.desc()).limit(1)
    ).one_or_none()
    return None if row is None else (row.id, row.mac)


def archived_head(connection: Connection) -> tuple[int, str] | None:
    """Id and MAC, in hexadecimal digits, of the record before the first one; None where none was archived.

    A sealed record of the log has them.
    """
    last = (connection.scalar(select(func.min(AuditRecord.id))) or 1) - 1
    names_it = AuditRecord.subject.startswith(f"{UP_TO}{last}:", autoescape=True)
    says_so = select(AuditRecord.subject).where(AuditRecord.action == ARCHIVED, names_it)
    subject = connection.scalar(says_so.limit(1))
    return None if subject is None else (last, subject.rpartition(":")[2])


def log_begins(connection: Connection) -> datetime | None:
    """The time of the first record if older ones were archived, otherwise None."""
    if archived_head(connection) is None:
        return None
    return connection.scalar(select(AuditRecord.at).order_by(AuditRecord.id).limit(1))


def audit_records(connection: Connection, wanted: AuditFilter = EVERYTHING) -> Iterator[AuditRow]:
    """The records, oldest first, with one chunk in memory at a time.

    :raises RecordUnreadable: a column of the next record has a value outside of its type.
    """
    last: int | None = None
    while True:
        before, last = last, None
        for row in audit_chunk(connection, wanted, after=before):
            yield row
            last = row.id
        if last is None:
            return


def audit_chunk(
    connection: Connection, wanted: AuditFilter, *, after: int | None, up_to: int | None = None
) -> Iterator[AuditRow]:
    """The next records, oldest first.

    :param after: the last id of the chunk before; None for the first chunk.
    :param up_to: the last id that is wanted; None for all.
    :raises RecordUnreadable: a column of the next record has a value outside of its type.
    """
    query = _matching(select(_TABLE), wanted).order_by(AuditRecord.id).limit(CHUNK)
    if after is not None:
        query = query.where(AuditRecord.id > after)
    if up_to is not None:
        query = query.where(AuditRecord.id <= up_to)
    yield from _chunk(connection, query)


def audit_ends(connection: Connection) -> tuple[int, int] | None:
    """The ids of the oldest and the newest record; None while there is no record."""
    oldest, newest = connection.execute(select(func.min(AuditRecord.id), func.max(AuditRecord.id))).one()
    return None if oldest is None else (oldest, newest)


def _chunk(connection: Connection, query: Select[*tuple[Any, ...]]) -> Iterator[AuditRow]:
    """The records of a chunk or a page, up to the first that cannot be read."""
    try:
        yield from connection.execute(query).all()
        return
    except _UNREADABLE:
        pass  # where the database itself fails, the next statement raises
    for record_id in connection.scalars(query.with_only_columns(AuditRecord.id)).all():
        row = audit_record(connection, record_id)
        if row is not None:
            yield row


def audit_page(connection: Connection, wanted: AuditFilter, before: int | None, limit: int) -> list[AuditRow]:
    """The newest records with an id under ``before``, newest first, without their changes.

    :raises RecordUnreadable: a column of one of them has a value outside of its type.
    """
    query = _matching(select(*_LISTED), wanted).order_by(AuditRecord.id.desc()).limit(at_most(limit))
    if before is not None:
        query = query.where(AuditRecord.id < before)
    return list(_chunk(connection, query))


def audit_record(connection: Connection, record_id: int) -> AuditRow | None:
    """One record with its changes.

    :raises RecordUnreadable: one of its columns has a value outside of its type.
    """
    try:
        return connection.execute(select(_TABLE).where(AuditRecord.id == record_id)).one_or_none()
    except _UNREADABLE:
        pass
    connection.scalar(select(AuditRecord.id).limit(1))  # where the database itself fails, this raises
    raise RecordUnreadable(f"record {record_id} cannot be read: it was changed in the database")


def _matching(query: Select[*tuple[Any, ...]], wanted: AuditFilter) -> Select[*tuple[Any, ...]]:
    if wanted.actor is not None:
        query = query.where(_matches_text(func.lower(AuditRecord.actor), wanted.actor))
    if wanted.action is not None:
        kind = AuditRecord.action.startswith(f"{wanted.action}.", autoescape=True)
        query = query.where((AuditRecord.action == wanted.action) | kind)
    if wanted.subject is not None:
        named = _matches_text(AuditSubject.subject, wanted.subject)
        query = query.where(exists().where(AuditSubject.record_id == AuditRecord.id, named))
    if wanted.since is not None:
        query = query.where(AuditRecord.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(AuditRecord.at < wanted.until)
    return query


def _matches_text(column: ColumnElement[str] | InstrumentedAttribute[str], text: str) -> ColumnElement[bool]:
    """Whether a column in lower case contains the text, or equals it where it is in double quotes."""
    wanted = text.lower()
    if len(wanted) > 2 and wanted.startswith('"') and wanted.endswith('"'):
        return column == wanted[1:-1]
    return column.contains(wanted, autoescape=True)


_CHANGES_NETWORK: Final = or_(
    AuditRecord.action.startswith(NETWORK_CHANGES), AuditRecord.action == SANDBOX_LOADED
)
"""Records of changes that were made: ``app.audit.rules.records.changes_network`` as SQL."""

_CHANGES_CHUNK: Final = 500
"""Records whose changes are read at once, without their other columns."""


def records_of_row(
    connection: Connection, subject: str, *, before: int | None = None, limit: int = CHUNK
) -> list[AuditRow]:
    """The newest records with an id under ``before`` that changed the row, with or without others.

    There may be records among them that changed only a row whose name differs in letter case.

    :param subject: the row as the log names it, such as ``chain 56``.
    """
    query = (
        select(_TABLE)
        .where(_CHANGES_NETWORK, _is_about(subject))
        .order_by(AuditRecord.id.desc())
        .limit(at_most(limit))
    )
    if before is not None:
        query = query.where(AuditRecord.id < before)
    return list(connection.execute(query))


def network_record(connection: Connection, record_id: int) -> AuditRow | None:
    """The record with its changes; None where there is none, or they were only proposed."""
    return connection.execute(
        select(_TABLE).where(AuditRecord.id == record_id, _CHANGES_NETWORK)
    ).one_or_none()


def network_changes_since(connection: Connection, since: datetime) -> Iterator[str]:
    """The changes, as records hold them, that were made to the network after a time; newest first.

    Only some are in memory at a time: a record of an import may hold every row.
    """
    last: int | None = None
    while True:
        query = select(AuditRecord.id, AuditRecord.changes).where(_CHANGES_NETWORK, AuditRecord.at > since)
        if last is not None:
            query = query.where(AuditRecord.id < last)
        rows = connection.execute(query.order_by(AuditRecord.id.desc()).limit(at_most(_CHANGES_CHUNK))).all()
        if not rows:
            return
        for row in rows:
            yield row.changes
        last = rows[-1].id


def maker_of_row_at(connection: Connection, subject: str, at: datetime) -> tuple[str, int] | None:
    """Who changed the row at exactly this time, and the id of that record; None where no record says so.

    The texts of the records are not read: many pages need this, and an import's text is long.
    """
    query = select(AuditRecord.actor, AuditRecord.id).where(
        AuditRecord.at == at, _CHANGES_NETWORK, _is_about(subject)
    )
    row = connection.execute(query.order_by(AuditRecord.id.desc()).limit(1)).one_or_none()
    return None if row is None else (row.actor, row.id)


def _is_about(subject: str) -> ColumnElement[bool]:
    """Whether the record is about the subject or changed it, in any letter case."""
    named = AuditSubject.subject == subject.lower()[:SUBJECT_LENGTH]
    return exists().where(AuditSubject.record_id == AuditRecord.id, named)
