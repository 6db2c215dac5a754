"""Plans an edit: turns what an operator entered into one change of the configuration, or refuses it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from marshmallow import ValidationError
from sqlalchemy import Connection

from app.queries.network.rows import load_rows, row_by_id, rows_with
from app.services.audit.fingerprint import require_unchanged
from app.services.audit.results import Conflict
from app.services.network.changes import Change
from app.services.network.edits.references import require_unused
from app.services.network.edits.results import FieldError, Invalid
from app.services.network.guards import refusals
from app.services.network.pins import pins_too_long
from app.services.network.reader import messages_by_path
from app.services.network.rules import faults
from app.services.network.sections import SECTIONS, Part, Row, Section

BLOCKED: Final = (Part.BLOCKED_ADDRESSES, Part.BLOCKED_NETWORKS)
"""Parts that may have a hundred thousand rows, with no rules between them: they are never read whole."""

_BY_DOCUMENT: Final = ("validators", "config_fields")

EDITABLE: Final = {section.name: section for section in SECTIONS if section.name not in _BY_DOCUMENT}
"""The sections that operators edit. Validators come from the chains, further fields by the document."""

COUNTED_BY_FEED: Final = {
    "pools": ("liquidity_added", "liquidity_sent", "liquidity_relayed", "liquidity_withdrawn")
}
"""Opening values: given with a new row, and not edited afterwards, as the feed counts what follows."""

_MESSAGE: Final = re.compile(
    r"(?P<row>[a-z_]+(?:\[\d+\])?)(?:\.(?P<path>[^:]+))?: (?P<message>.+)", re.DOTALL
)

Rows = Mapping[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Edit:
    """One row to add, change or remove.

    ``values`` are fields as the network document writes them; those left out keep what they have,
    or the document's default in a new row. None removes the row. ``row_id`` is the row's number in
    its table, None for a new row. ``shown`` is the fingerprint of the row as the operator was shown it.
    """

    section: str
    row_id: int | None = None
    values: Mapping[str, Any] | None = None
    shown: str | None = None

    def as_input(self) -> dict[str, Any]:
        """The edit for a proposal, from which ``Edit(**input)`` makes it again."""
        values = None if self.values is None else dict(self.values)
        shown = None if self.row_id is None else self.shown  # a new row is based on none
        return {"section": self.section, "row_id": self.row_id, "values": values, "shown": shown}


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """A checked edit. ``change`` is None where the row would stay as it is.

    ``before`` and ``after`` are the rows of every section but the blocked ones, empty for edits of those.
    """

    section: Section
    subject: str
    change: Change | None
    before: Rows
    after: Rows


def plan_edit(connection: Connection, edit: Edit, now: datetime) -> PlannedEdit:
    """The change that the edit makes, checked against everything it must agree with.

    :param connection: in a transaction with one consistent view; for a save, the writing one.
    :raises EditRefused: ``Invalid``, ``Conflict`` or ``InUse``.
    """
    section = EDITABLE[edit.section]
    before = _row_to_edit(connection, section, edit)
    rows = _rows(connection, section)
    after = None if edit.values is None else _read(section, before, edit.values, now)
    if after is None:
        assert before is not None  # noqa: S101  _row_to_edit has made sure of it
        require_unused(connection, section, before, rows)
    elif before is None:
        _require_new(connection, section, after, rows)
    elif section.identity(after) != section.identity(before):
        raise Invalid(_renamed(section, before, after))
    elif all(before[name] == value for name, value in after.items()):
        return PlannedEdit(section, section.describe(before), None, rows, rows)
    planned, index = _with(rows, section, before, after)
    change = Change(section, before, after, index)
    if found := [*faults(planned), *refusals(connection, [change]), *pins_too_long([change], now)]:
        raise Invalid(_row_errors(f"{section.name}[{index}]", found))
    return PlannedEdit(section, section.describe(change.row), change, rows, planned)


def _row_to_edit(connection: Connection, section: Section, edit: Edit) -> Row | None:
    """The row that is edited; None for a new one."""
    if edit.row_id is None:
        if edit.values is None:
            raise Conflict("there is nothing to remove", ())
        return None
    row = row_by_id(connection, section.model, edit.row_id)
    name = "the row" if row is None else section.describe(row)
    require_unchanged(name, edit.shown, None if row is None else section.documented(row))
    return row


def _rows(connection: Connection, section: Section) -> Rows:
    """The rows that the rules between rows concern: none for blocked accounts and networks."""
    if section.part in BLOCKED:
        return {of.name: [] for of in SECTIONS}
    return {of.name: [] if of.part in BLOCKED else load_rows(connection, of.model) for of in SECTIONS}


def _read(section: Section, before: Row | None, values: Mapping[str, Any], now: datetime) -> Row:
    whole = dict(values) if before is None else section.documented(before) | dict(values)
    if section.name == "chains" and whole.get("disabled") is False:
        whole["disabled_reason"] = ""
    try:
        row: Row = section.schema.load(whole)
    except ValidationError as error:
        raise Invalid(FieldError(*pair) for pair in messages_by_path(error.messages)) from None
    if errors := [*_console_rules(section, before, row), *_pin_rules(section, before, row, now)]:
        raise Invalid(errors)
    return row


def _console_rules(section: Section, before: Row | None, row: Row) -> Iterator[FieldError]:
    """What the console refuses although an imported document may have it."""
    if section.name == "chains" and row["disabled"] and not row["disabled_reason"].strip():
        yield FieldError(
            "disabled_reason", "say why the chain is stopped: operators will ask; users are never told"
        )
    for column in COUNTED_BY_FEED.get(section.name, ()) if before is not None else ():
        if before is not None and row[column] != before[column]:
            yield FieldError(column, "is counted by the feed and cannot be edited")


def _pin_rules(section: Section, before: Row | None, row: Row, now: datetime) -> Iterator[FieldError]:
    """A pin that has ended can be imported with the document it stands in, but not be made."""
    if section.name != "routes" or row["pinned_until"] is None:
        return
    columns = ("pinned_base_fee", "pinned_until")
    stays = before is not None and all(row[column] == before[column] for column in columns)
    if not stays and row["pinned_until"] <= now:
        yield FieldError("pinned_until", "has passed already: the fee would not count")


def _require_new(connection: Connection, section: Section, row: Row, rows: Rows) -> None:
    identity = section.identity(row)
    standing = rows[section.name]
    if section.part in BLOCKED:
        standing = rows_with(connection, section.model, section.key[0], [row[section.key[0]]])
    if any(section.identity(other) == identity for other in standing):
        raise Invalid([FieldError("", f"{section.describe(row)} is there already: edit that one")])


def _renamed(section: Section, before: Row, after: Row) -> Iterator[FieldError]:
    """The errors of an edit that changes a row's key. Other rows refer to it, so it must stay."""
    old, new = section.documented(before), section.documented(after)
    fields = section.schema.fields
    for name in (fields[column].data_key or column for column in section.key):
        if old[name] != new[name]:
            yield FieldError(
                name, f"cannot be changed ({old[name]}): add a new row, and remove this one if it is not used"
            )


def _with(rows: Rows, section: Section, before: Row | None, after: Row | None) -> tuple[Rows, int | None]:
    """The rows with the edit made, and where the edited one is among them."""
    standing = list(rows[section.name])
    index = next(
        (number for number, row in enumerate(standing) if before and row["id"] == before["id"]), len(standing)
    )
    if after is None:
        del standing[index : index + 1]
        return {**rows, section.name: standing}, None
    standing[index : index + 1] = [after if before is None else before | after]
    return {**rows, section.name: standing}, index


def _row_errors(row: str, lines: Iterable[str]) -> Iterator[FieldError]:
    """Messages about a document as errors of the one row that is edited, such as ``routes[3]``."""
    for line in lines:
        match = _MESSAGE.fullmatch(line)
        if match is None or match["row"] != row:
            yield FieldError("", line if match is None else match["message"])
        else:
            yield FieldError(match["path"] or "", match["message"])
