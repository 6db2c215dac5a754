"""The past of the configuration: at a time, of a row, and since when a chain is stopped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Integer

from app.audit.queries import AuditRow, log_begins, maker_of_row_at, network_changes_since, records_of_row
from app.audit.rules.records import AuditedChange, read_changes
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.db.types import Uint64
from app.network.document import document_of
from app.network.edits.restore import ChangedRow, changed_rows, whole
from app.network.queries import load_rows, rows_with, stopped_chains
from app.network.sections import SECTIONS, Section, key_of, section_of
from app.values.amounts import is_ascii_digits
from app.values.times import rfc3339

Documented = Mapping[str, Any]

_MOST_GAPS: Final = 50


class NetworkAt(Struct, frozen=True):
    """The configuration at a time, as a network document.

    :ivar changes: every row that differs now: then and now, in the document's order.
    :ivar records: how many audit records were undone for it.
    :ivar gaps: rows whose changes are not all in the log. Their values at that time may have been others.
    """

    at: datetime
    document: bytes
    changes: tuple[AuditedChange, ...]
    records: int
    gaps: tuple[str, ...]


class BeforeTheLog(Exception):
    """The log does not go back to that time: older records were archived."""

    def __init__(self, begins: datetime) -> None:
        super().__init__(f"the audit log goes back to {rfc3339(begins)} only: what is older was archived")


class _Rows:
    """The documented rows of every section by their keys. ``gaps`` are rows that a change does not fit, in
    the order in which they were found.
    """

    def __init__(self, rows: Mapping[str, Iterable[Documented]]) -> None:
        self.by_section: dict[str, dict[tuple[Any, ...], Documented]] = {
            section.name: {_identity(section, row): row for row in in_turns(rows[section.name])}
            for section in SECTIONS
        }
        self.gaps: dict[str, None] = {}

    def take_back(self, change: AuditedChange) -> None:
        """Restore a row to its state before the change. A row that differs from its result is a gap."""
        section = section_of(change.subject, change.row)
        if section is None:
            return
        rows, identity = self.by_section[section.name], _identity(section, change.row)
        if change.subject not in self.gaps:
            known = rows.get(identity)
            # The texts are mostly the same. Only where they differ, the defaults of omitted keys are added.
            if known != change.after and whole(section, known) != whole(section, change.after):
                self.gaps[change.subject] = None
        if change.before is None:
            rows.pop(identity, None)
        else:
            rows[identity] = change.before


def network_at(database: Database, at: datetime) -> NetworkAt:
    """:raises BeforeTheLog: changes since then were archived."""
    count = 0
    with reading_consistently(database.engine) as connection:
        if (begins := log_begins(connection)) is not None and at < begins:
            raise BeforeTheLog(begins)
        present = {
            section.name: [section.documented(row) for row in in_turns(load_rows(connection, section.model))]
            for section in SECTIONS
        }
        then, now = _Rows(present), _Rows(present)
        for changes in network_changes_since(connection, at):
            count += 1
            for change in in_turns(reversed(read_changes(changes))):
                then.take_back(change)
    return NetworkAt(
        at,
        document_of({name: list(rows.values()) for name, rows in then.by_section.items()}),
        tuple(_differences(then, now)),
        count,
        tuple(then.gaps)[:_MOST_GAPS],
    )


def _differences(then: _Rows, now: _Rows) -> Iterable[AuditedChange]:
    for section in SECTIONS:
        was, is_now = then.by_section[section.name], now.by_section[section.name]
        for identity in in_turns({**was, **is_now}):
            before, after = was.get(identity), is_now.get(identity)
            if whole(section, before) != whole(section, after):
                key = key_of(section, after or before or {}) or {}
                yield AuditedChange(section.describe(key), before, after)


def _identity(section: Section, documented: Documented) -> tuple[Any, ...]:
    return section.identity(key_of(section, documented) or {})


_LONGEST_NUMBER: Final = 18
"""Digits of a chain's id that every database can compare."""


class RowChange(Struct, frozen=True):
    """``number`` is that of the change in the record."""

    record: AuditRow
    number: int
    change: AuditedChange


class RowHistory(Struct, frozen=True):
    """The changes of one row, newest first.

    A row may have no change: then it was written in a way that is not logged, such as SQL.

    :ivar row: the row as it is now; None where neither the log nor the configuration has such a row.
    :ivar older: the id before which the next page begins.
    """

    subject: str
    row: ChangedRow | None
    changes: tuple[RowChange, ...]
    older: int | None


def row_history(database: Database, subject: str, *, before: int | None, limit: int) -> RowHistory:
    """A page of the changes of a row, which the log names ``subject``, such as ``chain 56``."""
    with reading(database.reads) as connection:
        records = records_of_row(connection, subject, before=before, limit=limit + 1)
        found = tuple(
            RowChange(record, number, change)
            for record in records[:limit]
            for number, change in enumerate(read_changes(record.changes))
            if change.subject == subject
        )
        row = None
        if found:
            row = next(iter(changed_rows(connection, [found[0].change])), None)
        elif before is None:
            row = _row_named(connection, subject)
    older = records[limit - 1].id if len(records) > limit else None
    return RowHistory(subject, row, found, older)


def row_of_change(database: Database, change: AuditedChange) -> ChangedRow | None:
    with reading(database.reads) as connection:
        return next(iter(changed_rows(connection, [change])), None)


def _row_named(connection: Connection, subject: str) -> ChangedRow | None:
    """The row that the log names so, without a change. It is searched by the first column of its key."""
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
                return ChangedRow.of(section, AuditedChange(subject, None, None), row)
    return None


class StoppedChain(Struct, frozen=True):
    """A stopped chain. ``at``, ``by`` and ``record_id`` are None where the audit log does not have them.

    ``ago`` is the time since it was stopped in its largest unit, empty where that is not known.
    """

    chain_id: int
    name: str
    reason: str
    at: datetime | None
    ago: str
    by: str | None
    record_id: int | None


def chains_stopped_now(database: Database) -> list[StoppedChain]:
    """Every stopped chain, the one that was stopped last at the top."""
    now = database.clock()
    with reading(database.reads) as connection:
        found = [
            StoppedChain(
                chain_id, name, reason, at, "" if at is None else largest_unit(now - at),
                *_stopped_by(connection, chain_id, at),
            )
            for chain_id, name, reason, at in stopped_chains(connection)
        ]  # fmt: skip
    return sorted(found, key=lambda chain: chain.record_id or 0, reverse=True)


def _stopped_by(
    connection: Connection, chain_id: int, at: datetime | None
) -> tuple[str, int] | tuple[None, None]:
    """The audit record has the row's time, as both were written together."""
    made = None if at is None else maker_of_row_at(connection, f"chain {chain_id}", at)
    return made or (None, None)


def largest_unit(age: timedelta) -> str:
    """A duration in its largest unit, such as ``4 min``."""
    seconds = max(int(age.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
