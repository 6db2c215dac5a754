"""Blocking addresses or networks, one or many at once. It adds to what is blocked and removes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from marshmallow import ValidationError
from msgspec import Struct
from sqlalchemy import Connection

from app.db.database import Database
from app.db.engine import reading_consistently
from app.network.blocking import as_network
from app.network.changes import Change
from app.network.document import messages_by_path
from app.network.edits.edit_effects import block_effects
from app.network.edits.planning import EDITABLE
from app.network.edits.results import Effect, FieldError, Invalid
from app.network.edits.saving import Planned
from app.network.queries import rows_with
from app.network.sections import Row, Section
from app.values.amounts import grouped

CHUNK: Final = 500
MAX_LINES: Final = 100_000
LONGEST_SHOWN: Final = 120
_SEPARATORS: Final = re.compile(r"[,;\t]")


class GoodLine(Struct, frozen=True):
    """A line that can be taken, and what was typed."""

    row: Row
    typed: str


class InvalidLine(Struct, frozen=True):
    """A line that cannot be taken: its number from 1, its text as far as it is shown, and the reason."""

    number: int
    text: str
    reason: str


class BlockEdit(Struct, frozen=True):
    """What to block in ``blocked_addresses`` or ``blocked_networks``: an address or a network a line.

    Blank lines, and comments that begin with ``#``, are passed over. ``shared`` has reason, source and end
    of all of them, as the network document writes them.
    """

    section: str
    text: str
    shared: Mapping[str, Any]

    def planned(self, connection: Connection, now: datetime) -> Planned:
        """What the lines come to, from the rows of now (``saving.Command``). Saving them twice adds nothing.

        It only ever blocks more, which waits for nobody.

        :raises Invalid: with every invalid line.
        """
        found = _sort(connection, EDITABLE[self.section], self)
        if found.invalid:
            raise Invalid(FieldError("text", f"line {line.number} {line.reason}") for line in found.invalid)
        return Planned("blocks", {}, "network.block", found.changes)


class BlocksPreview(Struct, frozen=True):
    """What the lines would do. With an invalid one among them, none is saved.

    ``added`` are not blocked yet; ``extended`` are blocked, but end earlier than is asked for;
    ``standing`` are blocked at least as long and stay as they are. ``repeated`` counts the lines that
    name the same as an earlier line.
    """

    added: tuple[str, ...]
    extended: tuple[str, ...]
    standing: tuple[str, ...]
    repeated: int
    invalid: tuple[InvalidLine, ...]
    effects: tuple[Effect, ...]


class _SortedLines(Struct, frozen=True):
    changes: list[Change]
    typed: list[str]
    standing: list[Row]
    repeated: int
    invalid: list[InvalidLine]


def preview_blocks(database: Database, edit: BlockEdit) -> BlocksPreview:
    """Line by line what blocking would do. Nothing is written.

    :raises Invalid: a shared value is impossible.
    """
    section = EDITABLE[edit.section]
    now = database.clock()
    with reading_consistently(database.engine) as connection:
        found = _sort(connection, section, edit)
        rows = [change.after for change in found.changes if change.after is not None]
        effects = tuple(block_effects(connection, section.name, rows, found.typed, now))
    name = section.key[0]
    return BlocksPreview(
        added=tuple(c.row[name] for c in found.changes if c.before is None),
        extended=tuple(c.row[name] for c in found.changes if c.before is not None),
        standing=tuple(row[name] for row in found.standing),
        repeated=found.repeated,
        invalid=tuple(found.invalid),
        effects=effects,
    )


def _sort(connection: Connection, section: Section, edit: BlockEdit) -> _SortedLines:
    _check_shared(section, edit.shared)
    invalid: list[InvalidLine] = []
    wanted: dict[tuple[Any, ...], GoodLine] = {}
    repeated = 0
    for line in _read_lines(section, edit.text, edit.shared):
        if isinstance(line, InvalidLine):
            invalid.append(line)
        elif section.identity(line.row) in wanted:
            repeated += 1
        else:
            wanted[section.identity(line.row)] = line
    rows = [line.row for line in wanted.values()]
    blocked = {section.identity(row): row for row in _blocked_already(connection, section, rows)}
    changes, typed, standing = [], [], []
    for identity, line in wanted.items():
        row, before = line.row, blocked.get(identity)
        if before is None:
            changes.append(Change(section, None, row, None))
            typed.append(line.typed)
        elif _lasts_longer(row["expires_at"], before["expires_at"]):
            changes.append(Change(section, before, row | {section.key[0]: before[section.key[0]]}, None))
        else:
            standing.append(row)
    return _SortedLines(changes, typed, standing, repeated, invalid)


def _read_lines(section: Section, text: str, shared: Mapping[str, Any]) -> Iterator[GoodLine | InvalidLine]:
    # As a form numbers them, without the mark that spreadsheets put before the first.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(map(str.strip, lines), 1):
        if number > MAX_LINES:
            words = f"there are more than {grouped(MAX_LINES)} lines: block the rest afterwards"
            yield InvalidLine(number, "", words)
            return
        if line and not line.startswith("#"):
            yield _read(section, number, line, shared)


def _read(section: Section, number: int, line: str, shared: Mapping[str, Any]) -> GoodLine | InvalidLine:
    if _SEPARATORS.search(line):  # "address,reason" could be read as an account of another chain
        return InvalidLine(
            number, line[:LONGEST_SHOWN], "must be a single entry: no commas, semicolons or tabs"
        )
    (column,) = section.key
    value = as_network(line) if section.name == "blocked_networks" else line
    try:
        return GoodLine(section.schema.load({**shared, column: value}), line)
    except ValidationError as error:
        found = messages_by_path(error.messages)
        reason = "; ".join(f"{path} {message}" for path, message in found)
        return InvalidLine(number, line[:LONGEST_SHOWN], reason)


def _check_shared(section: Section, shared: Mapping[str, Any]) -> None:
    """Check the shared values alone: otherwise every line would report the same mistake."""
    try:
        section.schema.load(dict(shared), partial=True)
    except ValidationError as error:
        raise Invalid(FieldError(*pair) for pair in messages_by_path(error.messages)) from None


def _blocked_already(connection: Connection, section: Section, rows: Iterable[Row]) -> Iterator[Row]:
    column = section.key[0]
    values = [row[column] for row in rows]
    for start in range(0, len(values), CHUNK):
        yield from rows_with(connection, section.model, column, values[start : start + CHUNK])


def _lasts_longer(until: datetime | None, than: datetime | None) -> bool:
    """Whether one end is later than the other; None is never."""
    return than is not None and (until is None or until > than)
