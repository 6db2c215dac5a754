"""Blocks addresses or networks, one or many at once. Blocks are only added, never removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from marshmallow import ValidationError
from msgspec import Struct
from sqlalchemy import Connection

from app.network.blocking import as_network
from app.network.changes import Change
from app.network.document import messages_by_path
from app.network.edits.edit_effects import block_effects
from app.network.edits.planning import EDITABLE, blocked_already
from app.network.edits.results import Effect, FieldError, Invalid, Preview
from app.network.edits.saving import Description, NetworkChange, network_change
from app.network.sections import Row, Section
from app.values.amounts import grouped

MAX_LINES: Final = 100_000
LONGEST_SHOWN: Final = 120
_SEPARATORS: Final = re.compile(r"[,;\t]")


class GoodLine(Struct, frozen=True):
    """A valid line, and what was typed."""

    row: Row
    typed: str


class InvalidLine(Struct, frozen=True):
    """An invalid line: its number from 1, the part of its text that is shown, and the reason."""

    number: int
    text: str
    reason: str


class BlockEdit(Struct, frozen=True):
    """Addresses or networks to block, each once, in ``blocked_addresses`` or ``blocked_networks``."""

    section: str
    lines: Sequence[GoodLine]

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that the lines make to the present rows (``saving.Command``). Saving twice adds nothing.

        What is blocked at least as long stays as it is. As it only blocks more, it needs no second person.
        """
        section = EDITABLE[self.section]
        blocked = blocked_already(connection, section, [line.row for line in self.lines])
        changes, typed = [], []
        for line in self.lines:
            row, before = line.row, blocked.get(section.identity(line.row))
            if before is None:
                changes.append(Change(section, None, row, None))
                typed.append(line.typed)
            elif _lasts_longer(row["expires_at"], before["expires_at"]):
                changes.append(Change(section, before, row | {section.key[0]: before[section.key[0]]}, None))

        def effects(connection: Connection, change: NetworkChange, now: datetime) -> Iterator[Effect]:
            coming = [each.after for each in change.rows if each.after is not None]
            return block_effects(connection, section.name, coming, typed, now)

        return network_change(Description("blocks", {}, "network.block", effects), changes, {}, {})

    def by_outcome(self, preview: Preview) -> dict[str, list[str]]:
        """The lines by their effect.

        ``added`` are not blocked yet; ``extended`` are blocked, but end earlier than requested; ``unchanged``
        are blocked at least as long.
        """
        section = EDITABLE[self.section]
        (key,) = section.key
        found: dict[str, list[str]] = {"added": [], "extended": [], "unchanged": []}
        changed = set()
        for change in preview.audited:
            row = dict(change.after or {})
            changed.add(section.identity(row))
            found["extended" if change.before else "added"].append(row[key])
        rows = (line.row for line in self.lines)
        found["unchanged"] += (row[key] for row in rows if section.identity(row) not in changed)
        return found


class BlockLines(Struct, frozen=True):
    """The typed lines. With an invalid one among them, none is saved.

    ``repeated`` counts the lines that repeat an earlier one.
    """

    good: BlockEdit
    repeated: int
    invalid: tuple[InvalidLine, ...]

    @property
    def edit(self) -> BlockEdit:
        """The edit that blocks all of it.

        :raises Invalid: with every invalid line.
        """
        if self.invalid:
            raise Invalid(FieldError("text", f"line {line.number} {line.reason}") for line in self.invalid)
        return self.good


def read_blocks(section_name: str, text: str, shared: Mapping[str, Any]) -> BlockLines:
    """Read what to block: an address or a network on each line.

    Blank lines, and comments that begin with ``#``, are skipped.

    :param shared: reason, source and end of all of them, as the network document writes them.
    :raises Invalid: a shared value is impossible.
    """
    section = EDITABLE[section_name]
    _check_shared(section, shared)
    invalid: list[InvalidLine] = []
    wanted: dict[tuple[Any, ...], GoodLine] = {}
    repeated = 0
    for line in _read_lines(section, text, shared):
        if isinstance(line, InvalidLine):
            invalid.append(line)
        elif section.identity(line.row) in wanted:
            repeated += 1
        else:
            wanted[section.identity(line.row)] = line
    return BlockLines(BlockEdit(section_name, tuple(wanted.values())), repeated, tuple(invalid))


def _read_lines(section: Section, text: str, shared: Mapping[str, Any]) -> Iterator[GoodLine | InvalidLine]:
    # Numbered as in a form, without the byte order mark that spreadsheets write before the first.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(map(str.strip, lines), 1):
        if number > MAX_LINES:
            words = f"there are more than {grouped(MAX_LINES)} lines: block the rest afterwards"
            yield InvalidLine(number, "", words)
            return
        if line and not line.startswith("#"):
            yield _read(section, number, line, shared)


def _read(section: Section, number: int, line: str, shared: Mapping[str, Any]) -> GoodLine | InvalidLine:
    if _SEPARATORS.search(line):  # "address,reason" could be taken for an account of another chain
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
    """Check the shared values by themselves: otherwise every line would report the same error."""
    try:
        section.schema.load(dict(shared), partial=True)
    except ValidationError as error:
        raise Invalid(FieldError(*pair) for pair in messages_by_path(error.messages)) from None


def _lasts_longer(until: datetime | None, than: datetime | None) -> bool:
    """Whether one end is later than the other; None is never."""
    return than is not None and (until is None or until > than)
