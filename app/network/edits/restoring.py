"""Earlier values of rows, as the audit log has them: of one row restored, of a whole record undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from app.audit.queries import AuditRow, record_of_made, records_of_row
from app.audit.records import AuditedChange, Documented, read_changes
from app.audit.services import EditRefused, fingerprint
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading
from app.network.edits.planning import EDITABLE, Edit
from app.network.edits.results import FieldError, Invalid, counted
from app.network.edits.rows import Edits
from app.network.edits.saving import NetworkChange, Shown
from app.network.guards import without_ended_pin
from app.network.queries import rows_with
from app.network.sections import Row, Section, key_of, section_of

_NAMED: Final = 20
"""How many rows with later changes are named."""

_LONGEST: Final = 200
"""Characters of the undone record's text in the text of the new one."""


class Restoring(Struct, frozen=True):
    """A version of a row to restore: the edit that does it, and the row as it is now.

    ``edit`` is None where that version has no row: then the row is to be removed.
    """

    section: Section
    subject: str
    row_id: int | None
    now: Documented | None
    edit: Edit | None


def restoring(database: Database, record_id: int, number: int, *, before: bool) -> Restoring | None:
    """How to give a row the values of an audit record. None where the record has no such change of a row.

    A change that was only proposed is no version: it may never have been approved.

    :param number: which change of the record is meant.
    :param before: whether the values before the change are wanted, otherwise those after it.
    """
    with reading(database.engine) as connection:
        record = record_of_made(connection, record_id)
        changes = () if record is None else read_changes(record.changes)
        if not 0 <= number < len(changes):
            return None
        change = changes[number]
        section = section_of(change.subject, _documented(change))
        if section is None:
            return None
        row = row_now(connection, section, _documented(change))
    now = section.documented(row) if row else None
    wanted = change.before if before else change.after
    row_id = row["id"] if row else None
    edit = None
    if wanted is not None:
        values = _every_value(section, wanted, replaced=now) | without_ended_pin(wanted, database.clock())
        edit = Edit(section.name, row_id, values, None if now is None else fingerprint(now))
    return Restoring(section, change.subject, row_id, now, edit)


def _every_value(
    section: Section, wanted: Mapping[str, Any], replaced: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The values of the version, with the defaults of the keys that it omits: no present value stays.

    The opening values (``Section.opening``) of an existing row do not change.
    """
    values = section.with_defaults(wanted)
    if replaced is not None:
        values = {key: each for key, each in values.items() if key not in section.opening}
    return values


class LaterChange(Struct, frozen=True):
    """A row that was changed after a record.

    :ivar change: the row as the record left it, and as it is now.
    :ivar record: its newest record; None where the log has none after the other.
    """

    change: AuditedChange
    record: AuditRow | None


class ChangedLater(EditRefused):
    """A record cannot be undone, as some of its rows were changed later. ``rows`` are the first of them."""

    def __init__(self, count: int, rows: Sequence[LaterChange]) -> None:
        names = ", ".join(row.change.subject for row in rows) + (", …" if count > len(rows) else "")
        super().__init__(f"{counted(count, 'row')} changed later: {names}")
        self.count, self.rows = count, rows


class _ChangedRow(Struct, frozen=True):
    """A row that a record changed, and as it is now; ``row_id`` and ``now`` are None where it is gone."""

    section: Section
    change: AuditedChange
    row_id: int | None
    now: Documented | None

    def is_as(self, version: Documented | None) -> bool:
        return whole(self.section, self.now) == whole(self.section, version)

    def edit(self, at: datetime) -> Edit:
        """The edit that gives the row its values from before the change, without a pin that has ended."""
        before = self.change.before
        return Edit(
            self.section.name,
            self.row_id,
            None if before is None else self.section.with_defaults(before) | without_ended_pin(before, at),
            None if self.now is None else fingerprint(self.now),
        )


class Undo(Struct, frozen=True):
    """Takes back every change of an audit record. Rows that are as they were before it stay as they are.

    ``shown`` is the fingerprint of the preview. ``as_document`` is for who may apply a network document,
    which may change what the console's forms do not (``planning.plan_edits``).
    """

    record_id: int
    as_document: bool
    shown: str = ""

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that it makes to the present rows (``saving.Command``).

        :raises ChangedLater: some of its rows are neither as it left them nor as they were before.
        :raises Invalid: there is nothing to undo, or not for an operator.
        """
        record = record_of_made(connection, self.record_id)
        changes = () if record is None else read_changes(record.changes)
        rows = [row for row in _changed_rows(connection, changes) if not row.is_as(row.change.before)]
        if record is None or not rows:
            raise Invalid([FieldError("", "There is nothing to undo: all rows are as they were before it.")])
        if later := [row for row in in_turns(rows) if not row.is_as(row.change.after)]:
            raise ChangedLater(len(later), list(_named(connection, self.record_id, later[:_NAMED])))
        if not (self.as_document or all(row.section.name in EDITABLE for row in rows)):
            text = "It changed what only a network document changes. An administrator can undo it."
            raise Invalid([FieldError("", text)])
        done = record.detail.partition("; note: ")[0][:_LONGEST]
        edits = Edits(
            tuple(row.edit(now) for row in in_turns(rows)),
            "network.undo",
            f"undo record {self.record_id}: {done}",
            as_document=self.as_document,
        )
        subjects = "\n".join(row.change.subject for row in rows)
        seen = Shown("one of the rows", self.shown, {"rows": sha256(subjects.encode()).hexdigest()})
        planned = edits.planned(connection, now)
        return replace(planned, described=replace(planned.described, seen=seen))


def _named(connection: Connection, record_id: int, rows: Iterable[_ChangedRow]) -> Iterator[LaterChange]:
    for row in rows:
        newest = records_of_row(connection, row.change.subject, limit=1)
        record = next((each for each in newest if each.id > record_id), None)
        yield LaterChange(AuditedChange(row.change.subject, row.change.after, row.now), record)


def _changed_rows(connection: Connection, changes: Iterable[AuditedChange]) -> list[_ChangedRow]:
    """The rows that changes are about, in their order, with the present row of each."""
    named = [
        (section, change, key_of(section, _documented(change)) or {})
        for change in in_turns(changes)
        if (section := section_of(change.subject, _documented(change)))
    ]
    keys: dict[str, tuple[Section, list[Row]]] = {}
    for section, _, key in named:
        keys.setdefault(section.name, (section, []))[1].append(key)
    found = {
        (name, section.identity(row)): row
        for name, (section, wanted) in keys.items()
        for row in _rows_now(connection, section, wanted)
    }
    rows: list[_ChangedRow] = []
    for section, change, key in in_turns(named):
        row = found.get((section.name, section.identity(key)))
        row_id, now = (row["id"], section.documented(row)) if row else (None, None)
        rows.append(_ChangedRow(section, change, row_id, now))
    return rows


def _documented(change: AuditedChange) -> Documented:
    """The row, as it is after the change where it is still there."""
    return change.after or change.before or {}


def row_now(connection: Connection, section: Section | None, documented: Documented) -> Row | None:
    """The row with the key of a documented one, as it is now."""
    key = None if section is None else key_of(section, documented)
    if section is None or key is None:
        return None
    same = _rows_now(connection, section, [key])
    return next((row for row in same if section.identity(row) == section.identity(key)), None)


def _rows_now(connection: Connection, section: Section, keys: Sequence[Row]) -> list[Row]:
    """The present rows with these keys, and others that have the first column of a key."""
    column = section.key[0]
    return rows_with(connection, section.model, column, list(dict.fromkeys(key[column] for key in keys)))


def whole(section: Section, documented: Documented | None) -> Documented | None:
    """The row with the defaults of the keys that it omits: a later release may omit more."""
    return None if documented is None else section.with_defaults(documented)
