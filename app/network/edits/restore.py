"""Earlier values of rows, as the audit log has them: of one row restored, of a whole record undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from app.audit.queries import AuditRow, network_record, records_of_row
from app.audit.rules.records import AuditedChange, Documented, read_changes
from app.audit.services import EditRefused, fingerprint
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading
from app.network.edits.entered import Edits
from app.network.edits.plan import EDITABLE, SECTION_BY_NAME, Edit, present_rows
from app.network.edits.refusals import FieldError, Invalid, counted
from app.network.edits.save import NetworkChange, Shown
from app.network.row_checks import without_ended_pin
from app.network.sections import Row, Section, key_of, section_of

_NAMED: Final = 20
"""How many rows with later changes are named."""

_LONGEST: Final = 200
"""Characters of the undone record's text in the text of the new one."""


class ChangedRow(Struct, frozen=True):
    """A row that a record changed, and as it is now, in its table and documented; None where it is gone."""

    section: Section
    change: AuditedChange
    row: Row | None
    now: Documented | None

    @classmethod
    def of(cls, section: Section, change: AuditedChange, row: Row | None) -> Self:
        return cls(section, change, row, None if row is None else section.documented(row))

    def is_as(self, version: Documented | None) -> bool:
        """Whether the row is now as it was in a version; None: whether it is gone."""
        return whole(self.section, self.now) == whole(self.section, version)

    def edit(self, version: Documented | None, at: datetime) -> Edit:
        """The edit that gives the row all values of a version, without a pin that has ended.

        The keys that it omits get their defaults: no present value stays. None: the edit removes the row.
        """
        return Edit(
            self.section.name,
            self.row["id"] if self.row else None,
            None if version is None else self.section.with_defaults(version) | without_ended_pin(version, at),
            None if self.now is None else fingerprint(self.now),
        )


def restoring(
    database: Database, record_id: int, number: int, *, before: bool
) -> tuple[ChangedRow, Edit] | None:
    """A row, and the edit that gives it the values of an audit record; without values where it had no row.

    The opening values (``Section.opening``) of an existing row do not change. None where the record has no
    such change of a row. A change that was only proposed is no version: it may never have been approved.

    :param number: which change of the record is meant.
    :param before: whether the values before the change are wanted, otherwise those after it.
    """
    with reading(database.engine) as connection:
        record = network_record(connection, record_id)
        changes = () if record is None else read_changes(record.changes)
        found = changed_rows(connection, changes[number : number + 1])
    if not found:
        return None
    (row,) = found
    edit = row.edit(row.change.before if before else row.change.after, database.clock())
    if row.now is not None and edit.values is not None:
        values = {key: each for key, each in edit.values.items() if key not in row.section.opening}
        edit = replace(edit, values=values)
    return row, edit


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


class Undo(Struct, frozen=True):
    """Undoes every change of an audit record. Rows that are already as before it do not change.

    ``shown`` is the fingerprint of the preview. ``as_document`` is for users who may apply a network
    document, which may change what the console's forms do not (``plan_edits``).
    """

    record_id: int
    as_document: bool
    shown: str = ""

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that it makes to the present rows.

        :raises ChangedLater: some of its rows are neither as it left them nor as they were before.
        :raises Invalid: there is nothing to undo, or not for an operator.
        """
        record = network_record(connection, self.record_id)
        changes = () if record is None else read_changes(record.changes)
        rows = [row for row in changed_rows(connection, changes) if not row.is_as(row.change.before)]
        if record is None or not rows:
            raise Invalid([FieldError("", "There is nothing to undo: all rows are as they were before it.")])
        if later := [row for row in in_turns(rows) if not row.is_as(row.change.after)]:
            raise ChangedLater(len(later), list(_named(connection, self.record_id, later[:_NAMED])))
        if not (self.as_document or all(row.section.name in EDITABLE for row in rows)):
            text = "It changed what only a network document changes. An administrator can undo it."
            raise Invalid([FieldError("", text)])
        done = record.detail.partition("; note: ")[0][:_LONGEST]
        edits = Edits(
            tuple(row.edit(row.change.before, now) for row in in_turns(rows)),
            "network.undo",
            f"undo record {self.record_id}: {done}",
            as_document=self.as_document,
        )
        subjects = "\n".join(row.change.subject for row in rows)
        seen = Shown("one of the rows", self.shown, {"rows": sha256(subjects.encode()).hexdigest()})
        planned = edits.planned(connection, now)
        return replace(planned, described=replace(planned.described, seen=seen))


def _named(connection: Connection, record_id: int, rows: Iterable[ChangedRow]) -> Iterator[LaterChange]:
    for row in rows:
        newest = records_of_row(connection, row.change.subject, limit=1)
        record = next((each for each in newest if each.id > record_id), None)
        yield LaterChange(AuditedChange(row.change.subject, row.change.after, row.now), record)


def changed_rows(connection: Connection, changes: Iterable[AuditedChange]) -> list[ChangedRow]:
    """The rows of the network that changes are about, in their order."""
    named = [
        (section, change, key_of(section, change.row) or {})
        for change in in_turns(changes)
        if (section := section_of(change.subject, change.row))
    ]
    keys: dict[str, list[Row]] = {}
    for section, _, key in named:
        keys.setdefault(section.name, []).append(key)
    found = {name: present_rows(connection, SECTION_BY_NAME[name], wanted) for name, wanted in keys.items()}
    return [
        ChangedRow.of(section, change, found[section.name].get(section.identity(key)))
        for section, change, key in in_turns(named)
    ]


def whole(section: Section, documented: Documented | None) -> Documented | None:
    """The row with the defaults of the keys that it omits: a later release may omit more."""
    return None if documented is None else section.with_defaults(documented)
