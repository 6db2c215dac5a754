"""What became of a row of the configuration: its versions, and how one of them comes back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Integer

from app.db.engine import reading
from app.db.types import Uint64
from app.domain.amounts import is_ascii_digits
from app.domain.audit import AuditedChange, read_changes
from app.queries.audit import AuditRow, record_of_made, records_of_row
from app.queries.network import rows_with
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint
from app.services.fields import read_time
from app.services.network.edits.planning import COUNTED_BY_FEED, Edit
from app.services.network.sections import SECTIONS, Row, Section, key_of, section_of

_LONGEST_NUMBER: Final = 18
"""Digits of a chain's id that every database can compare."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of one row: its audit record, and the number of the change in it."""

    record: AuditRow
    number: int
    change: AuditedChange


@dataclass(frozen=True, slots=True)
class RowHistory:
    """The changes of one row, newest first.

    There may be a row and no change of it: then it came by a way that the log does not see, such as SQL.

    :ivar section: that of the row; None where neither the log nor the configuration has such a row.
    :ivar row_id: the number of the row; None where it is not there now.
    :ivar now: the row as it is now, as the document writes it.
    :ivar older: the id before which the next page begins.
    """

    subject: str
    section: Section | None
    row_id: int | None
    now: Mapping[str, Any] | None
    changes: tuple[RowChange, ...]
    older: int | None


@dataclass(frozen=True, slots=True)
class Restoring:
    """A version of a row that shall come back: the edit that does it, and what the row is now.

    ``edit`` is None where the row was not there in that version: then it is to be removed.
    """

    section: Section
    subject: str
    row_id: int | None
    now: Mapping[str, Any] | None
    edit: Edit | None


def row_history(gateway: Gateway, subject: str, *, before: int | None, limit: int) -> RowHistory:
    """A page of the changes of a row.

    :param subject: the row as the log names it, such as ``chain 56``.
    """
    with reading(gateway.reads) as connection:
        records = records_of_row(connection, subject, before=before, limit=limit + 1)
        found = tuple(
            RowChange(record, number, change)
            for record in records[:limit]
            for number, change in enumerate(read_changes(record.changes))
            if change.subject == subject
        )
        section, row = None, None
        if found:
            documented = found[0].change.after or found[0].change.before or {}
            section = section_of(subject, documented)
            row = _row_now(connection, section, documented)
        elif before is None:
            section, row = _row_named(connection, subject)
    older = records[limit - 1].id if len(records) > limit else None
    now = section.documented(row) if section and row else None
    return RowHistory(subject, section, row["id"] if row else None, now, found, older)


def row_of_change(gateway: Gateway, change: AuditedChange) -> tuple[Section, Row | None] | None:
    """The section of the row that the change is about, and the row as it is now, where it is there."""
    documented = change.after or change.before or {}
    section = section_of(change.subject, documented)
    if section is None:
        return None
    with reading(gateway.reads) as connection:
        return section, _row_now(connection, section, documented)


def restoring(gateway: Gateway, record_id: int, number: int, *, before: bool) -> Restoring | None:
    """How a row gets the values that a record tells; None where there is no such change of a row.

    What was only proposed is no version: nobody may have approved it.

    :param number: which change of the record is meant.
    :param before: whether the values before the change are wanted, otherwise those after it.
    """
    with reading(gateway.engine) as connection:
        record = record_of_made(connection, record_id)
        changes = () if record is None else read_changes(record.changes)
        if not 0 <= number < len(changes):
            return None
        change = changes[number]
        documented = change.after or change.before or {}
        section = section_of(change.subject, documented)
        if section is None:
            return None
        row = _row_now(connection, section, documented)
    now = section.documented(row) if row else None
    wanted = change.before if before else change.after
    row_id = row["id"] if row else None
    edit = None
    if wanted is not None:
        values = _every_value(section, wanted, kept=now) | _ended_pin(wanted, gateway.clock())
        edit = Edit(section.name, row_id, values, None if now is None else fingerprint(now))
    return Restoring(section, change.subject, row_id, now, edit)


def _every_value(
    section: Section, wanted: Mapping[str, Any], kept: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The values of the version with the defaults of what it leaves out, so that none of now stays.

    A row that is there keeps its opening values: the feed counts what follows (``planning.COUNTED_BY_FEED``).
    """
    values = section.with_defaults(wanted)
    if kept is not None:
        values = {
            key: each for key, each in values.items() if key not in COUNTED_BY_FEED.get(section.name, ())
        }
    return values


def _ended_pin(wanted: Mapping[str, Any], now: datetime) -> dict[str, None]:
    """No pin instead of one that has ended since: it would not count, and cannot be made again."""
    until = wanted.get("pinned_until")
    if until is None or read_time(until) > now:
        return {}
    return {"pinned_base_fee": None, "pinned_until": None}


def _row_named(connection: Connection, subject: str) -> tuple[Section, Row] | tuple[None, None]:
    """The row that the log would name so, which is looked for by the first column of its section's key."""
    for section in SECTIONS:
        column = section.model.__table__.c[section.key[0]]
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(section.label))
        match = re.fullmatch(pattern, subject)
        if match is None:
            continue
        text = match[column.key]
        is_number = isinstance(column.type, Integer | Uint64)
        if is_number and (not is_ascii_digits(text) or len(text) > _LONGEST_NUMBER):
            continue
        for row in rows_with(connection, section.model, column.key, [int(text) if is_number else text]):
            if section.describe(row) == subject:
                return section, row
    return None, None


def _row_now(connection: Connection, section: Section | None, documented: Mapping[str, Any]) -> Row | None:
    """The row with the key of a documented one, as it is now."""
    key = None if section is None else key_of(section, documented)
    if section is None or key is None:
        return None
    column = section.key[0]
    same = rows_with(connection, section.model, column, [key[column]])
    return next((row for row in same if section.identity(row) == section.identity(key)), None)
