"""Plans an edit: turns what an operator entered into one change of the configuration, or refuses it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, cast

from marshmallow import ValidationError
from msgspec import Struct, to_builtins
from msgspec.structs import replace
from sqlalchemy import Connection

from app.accounts.rules.two_persons import ONE_ROW
from app.audit.services import Conflict, require_unchanged
from app.cooperation import in_turns
from app.network.changes import Change
from app.network.document import messages_by_path
from app.network.edits.preview import effects_of
from app.network.edits.refusals import FieldError, InUse, Invalid, RowUsers
from app.network.edits.save import Description, NetworkChange, Rows, network_change
from app.network.edits.tried_routes import try_change
from app.network.handed_in import COUNT_LIMIT, TRANSFER_USE
from app.network.queries import load_rows, rows_with
from app.network.row_checks import PIN, UsedRows, faults, makes_ended_pin, pins_too_long, refusals
from app.network.sections import BLOCKED, SECTIONS, Row, Section
from app.values.identifiers import ChainId

NAMED: Final = 10
"""How many rows or transfers of a kind are named in the refusal."""

_KINDS: Final = {
    "tokens": "token",
    "pools": "pool",
    "routes": "route",
    "route_blocks": "route block",
    "pegged_pairs": "pegged pair",
    "validators": "validator",
}
_CHAIN_COLUMNS: Final = ("chain_id", "src_chain_id", "dst_chain_id", "org_chain_id", "pegged_chain_id")
_ADVICE: Final = {
    "chains": "Stop the chain instead, or remove everything that uses it first.",
    "tokens": "Stop transfers of the token instead, or remove everything that uses it first.",
    "pools": "Remove everything that uses it first.",
}


Named = Mapping[str, Container[tuple[int, str | None]]]
"""By section: chain and symbol of what its rows name, and each chain with None."""


def _named_by(rows: Rows) -> Named:
    """What the rows name. The users of a removed row are searched only where there are any."""
    found: dict[str, set[tuple[int, str | None]]] = {name: set() for name in _KINDS}
    for name, named in found.items():
        for row in rows[name]:
            chains = {row[column] for column in _CHAIN_COLUMNS if column in row}
            named.update((chain_id, symbol) for chain_id in chains for symbol in (None, row.get("symbol")))
    return found


def _users(
    connection: Connection, change: Change, rows: Rows, named: Named, in_use: UsedRows
) -> Iterator[RowUsers]:
    row = change.row
    if change.section.name == "chains":
        yield from _referring(rows, named, tuple(_KINDS), row["chain_id"], None)
        if row["chain_id"] in in_use.chains:
            yield from _transfers(connection, row["chain_id"])
    elif change.section.name == "tokens":
        names = ("pools", "routes", "route_blocks", "pegged_pairs")
        yield from _referring(rows, named, names, row["chain_id"], row["symbol"])
        if (row["chain_id"], row["symbol"]) in in_use.tokens:
            yield from _transfers(connection, row["chain_id"], row["symbol"])
    elif change.section.name == "pools":
        yield from _referring(rows, named, ("routes",), row["chain_id"], row["symbol"])


def _referring(
    rows: Rows, named: Named, names: tuple[str, ...], chain_id: int, symbol: str | None
) -> Iterator[RowUsers]:
    """Rows that name the chain, and the symbol where it matters."""
    for section in SECTIONS:
        if section.name not in names or (chain_id, symbol) not in named[section.name]:
            continue
        found = [
            section.describe(row)
            for row in rows[section.name]
            if any(row.get(column) == chain_id for column in _CHAIN_COLUMNS)
            and symbol in (None, row.get("symbol"))
        ]
        yield RowUsers(_KINDS[section.name], len(found), tuple(found[:NAMED]))


def _transfers(connection: Connection, chain_id: ChainId, symbol: str | None = None) -> Iterator[RowUsers]:
    count, some = TRANSFER_USE(connection).transfers_using(connection, chain_id, symbol, NAMED)
    if count:
        names = tuple(f"0x{i.hex()}" for i in some)
        yield RowUsers("transfer", min(count, COUNT_LIMIT), names, at_least=count > COUNT_LIMIT)


_BY_DOCUMENT: Final = ("validators", "config_fields")

EDITABLE: Final = {section.name: section for section in SECTIONS if section.name not in _BY_DOCUMENT}
"""The sections that operators edit. Validators come from the chains, further fields from the document."""

_MESSAGE: Final = re.compile(
    r"(?P<row>[a-z_]+(?:\[\d+\])?)(?:\.(?P<path>[^:]+))?: (?P<message>.+)", re.DOTALL
)

SECTION_BY_NAME: Final = {section.name: section for section in SECTIONS}

ByIdentity = dict[tuple[Any, ...], Row]
"""Rows of a section by their keys, in order."""


class Edit(Struct, frozen=True):
    """One row to add, change or remove.

    ``values`` are fields as the network document writes them. Omitted fields do not change; in a new row they
    have the document's default. None removes the row. ``row_id`` is the row's number in
    its table, None for a new row. ``shown`` is the fingerprint of the row as the operator was shown it.
    """

    section: str
    row_id: int | None = None
    values: Mapping[str, Any] | None = None
    shown: str | None = None

    def as_input(self) -> dict[str, Any]:
        """The edit for a proposal. A new row is based on none."""
        given: dict[str, Any] = to_builtins(self)
        return given | {"shown": None} if self.row_id is None else given

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        action = "create" if self.row_id is None else "remove" if self.values is None else "edit"
        effects = partial(effects_of, typed=self.values)
        described = Description(ONE_ROW, self.as_input(), f"network.{action}", effects)
        return plan_edits(connection, described, (self,), now)


def plan_edits(
    connection: Connection, described: Description, edits: Sequence[Edit], now: datetime, *,
    as_document: bool = False,
) -> NetworkChange:  # fmt: skip
    """The change that several edits make together, checked as if they were one.

    So a route may be added together with its pools, and a chain removed together with its tokens. Unchanged
    rows are not part of it.

    :param as_document: whether they come from a network document, which may have what the console's forms
        refuse: opening values of a pool that is there, a stopped chain without a reason, a pin that has
        ended.
    :raises EditRefused: ``Invalid``, ``Conflict`` or ``InUse``. The errors say which edit they are about.
    """
    rows = _rows(connection, edits)
    current = _edited_rows(connection, edits)
    planned = {name: _by_identity(SECTION_BY_NAME[name], found) for name, found in rows.items()}
    changes: list[tuple[int, Change]] = []
    for number, edit in enumerate(in_turns(edits)):
        section = SECTION_BY_NAME[edit.section]
        before = _row_to_edit(section, edit, current)
        after = None
        if edit.values is not None:
            after = _read(section, before, edit.values, now, number=number, as_document=as_document)
        if before is None and after is not None:
            _require_new(section, after, planned[section.name], number)
        elif before is not None and after is not None:
            if section.identity(after) != section.identity(before):
                raise Invalid(_renamed(section, before, after, number))
            if all(before[name] == value for name, value in after.items()):
                continue
        _place(planned[section.name], section, before, after)
        changes.append((number, Change(section, before, after, None)))
    after_all = {name: list(found.values()) for name, found in planned.items()}
    _require_not_blocked(connection, changes)
    _require_unused(connection, (change for _, change in changes), after_all)
    checked = _checked(connection, changes, after_all, now)
    trials = try_change(connection, rows, after_all, now)
    return network_change(described, checked, rows, after_all, trials)


def _checked(
    connection: Connection, changes: list[tuple[int, Change]], after: Rows, now: datetime
) -> Sequence[Change]:
    """The changes, if the rows satisfy every rule together and no transfer depends on what changes."""
    places = {
        name: {SECTION_BY_NAME[name].identity(row): at for at, row in enumerate(rows)}
        for name, rows in after.items()
    }
    placed = [
        (
            number,
            replace(each, index=places[each.section.name][each.section.identity(each.after)])
            if each.after
            else each,
        )
        for number, each in changes
    ]
    rows = [change for _, change in placed]
    if found := [*faults(after), *refusals(connection, rows), *pins_too_long(rows, now)]:
        owners = {f"{change.section.name}[{change.index}]": number for number, change in placed}
        raise Invalid(_row_errors(owners, found))
    return rows


def _require_unused(connection: Connection, changes: Iterable[Change], rows: Rows) -> None:
    """Refuse where a remaining row, or a transfer, uses a removed row.

    :param rows: of every section but the blocked accounts and networks.
    :raises InUse: with what uses it.
    """
    removed = [change for change in changes if change.after is None]
    if not removed:
        return
    named, in_use = _named_by(rows), UsedRows.by(connection, removed)
    for change in removed:
        if users := tuple(_users(connection, change, rows, named, in_use)):
            section = change.section
            raise InUse(section.describe(change.row), users, _ADVICE[section.name])


def _edited_rows(connection: Connection, edits: Sequence[Edit]) -> dict[tuple[str, int], Row]:
    """The present values of the rows that are edited, by section and number."""
    wanted: dict[str, list[int]] = {}
    for edit in edits:
        if edit.row_id is not None:
            wanted.setdefault(edit.section, []).append(edit.row_id)
    return {
        (name, row["id"]): row
        for name, numbers in wanted.items()
        for row in rows_with(connection, SECTION_BY_NAME[name].model, "id", numbers)
    }


def _row_to_edit(section: Section, edit: Edit, current: Mapping[tuple[str, int], Row]) -> Row | None:
    """The row that is edited; None for a new one."""
    if edit.row_id is None:
        if edit.values is None:
            raise Conflict("there is nothing to remove", ())
        if edit.shown:  # of the row that was there when the edit was previewed
            require_unchanged("the row", edit.shown, None)
        return None
    row = current.get((section.name, edit.row_id))
    name = "the row" if row is None else section.describe(row)
    require_unchanged(name, edit.shown, None if row is None else section.documented(row))
    return row


def _rows(connection: Connection, edits: Iterable[Edit]) -> Rows:
    """The rows that the rules between rows apply to: none where only blocked accounts and networks change."""
    if all(SECTION_BY_NAME[edit.section].part in BLOCKED for edit in edits):
        return {of.name: [] for of in SECTIONS}
    return {of.name: [] if of.part in BLOCKED else load_rows(connection, of.model) for of in SECTIONS}


def _read(
    section: Section, before: Row | None, values: Mapping[str, Any], now: datetime, *,
    number: int, as_document: bool,
) -> Row:  # fmt: skip
    whole = dict(values) if before is None else section.documented(before) | dict(values)
    if section.name == "chains" and whole.get("disabled") is False and not as_document:
        whole |= {"disabled_reason": "", "retired": False}
    try:
        row: Row = section.schema.load(whole)
    except ValidationError as error:
        raise Invalid(FieldError(*pair, number) for pair in messages_by_path(error.messages)) from None
    if as_document:
        return row
    if errors := list(_console_rules(section, before, row, now, number)):
        raise Invalid(errors)
    return row


def _console_rules(
    section: Section, before: Row | None, row: Row, now: datetime, number: int
) -> Iterator[FieldError]:
    """Refuse what only an imported document may have."""
    if section.name == "chains" and row["disabled"] and not row["disabled_reason"].strip():
        yield FieldError(
            "disabled_reason",
            "Enter why the chain is stopped. Operators see it; users never do.",
            number,
        )
    for column in section.opening if before is not None else ():
        if before is not None and row[column] != before[column]:
            yield FieldError(column, "cannot be changed: the event feed counts it", number)
    if makes_ended_pin(section, before, row, now):
        yield FieldError(PIN[1], "is in the past: enter a later time", number)


def _require_new(section: Section, row: Row, planned: ByIdentity, number: int) -> None:
    if section.identity(row) in planned:
        raise Invalid([_there_already(section, row, number)])


def _require_not_blocked(connection: Connection, changes: Sequence[tuple[int, Change]]) -> None:
    """As ``_require_new``, for what may have a hundred thousand rows, which are not all read."""
    for part in BLOCKED:
        new = [(at, c) for at, c in changes if c.section.part is part and c.before is None]
        if not new:
            continue
        section = new[0][1].section
        there = present_rows(connection, section, [change.row for _, change in new])
        if errors := [
            _there_already(section, c.row, at) for at, c in new if section.identity(c.row) in there
        ]:
            raise Invalid(errors)


def present_rows(connection: Connection, section: Section, keys: Iterable[Row]) -> ByIdentity:
    """The present rows with these keys, and others that have the first column of a key."""
    column = section.key[0]
    values = list(dict.fromkeys(key[column] for key in keys))
    return _by_identity(section, rows_with(connection, section.model, column, values))


def _there_already(section: Section, row: Row, number: int) -> FieldError:
    return FieldError("", f"{section.describe(row)} exists already: change that one", number)


def _renamed(section: Section, before: Row, after: Row, number: int) -> Iterator[FieldError]:
    """The errors of an edit that changes a row's key. Other rows refer to it, so it must stay."""
    old, new = section.documented(before), section.documented(after)
    for name in section.keys.values():
        if old[name] != new[name]:
            text = f"cannot be changed ({old[name]}): add a new row and remove this one"
            yield FieldError(name, text, number)


def _by_identity(section: Section, rows: Iterable[Row]) -> ByIdentity:
    return {section.identity(row): row for row in rows}


def _place(planned: ByIdentity, section: Section, before: Row | None, after: Row | None) -> None:
    """Apply the edit to the planned rows. A changed row stays in its place, a new one is last."""
    if after is None:
        planned.pop(section.identity(cast(Row, before)), None)
    else:
        planned[section.identity(after)] = after if before is None else before | after


def _row_errors(owners: Mapping[str, int], lines: Iterable[str]) -> Iterator[FieldError]:
    """Messages about a document as errors of the rows that are edited.

    :param owners: the number of the edit by the path of its row, such as ``routes[3]``.
    """
    for line in lines:
        match = _MESSAGE.fullmatch(line)
        if match is None or match["row"] not in owners:
            yield FieldError("", line if match is None else match["message"])
        else:
            yield FieldError(match["path"] or "", match["message"], owners[match["row"]])
