"""Blocking many addresses or networks at once. A pasted list adds to what is blocked and removes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from marshmallow import ValidationError
from sqlalchemy import Connection

from app.domain.audit import Actor
from app.models.engine import reading_consistently, writing
from app.queries.network.rows import rows_with
from app.runtime.gateway import Gateway
from app.services.audit.results import Saved
from app.services.network.changes import Change
from app.services.network.edits.doubts import account_doubts
from app.services.network.edits.effects import LISTED, network_effects, recent_transfers
from app.services.network.edits.pasted_lines import GoodLine, InvalidLine, read_lines
from app.services.network.edits.planning import EDITABLE
from app.services.network.edits.results import Effect, FieldError, Invalid, counted
from app.services.network.edits.saving import Planned, save_changes
from app.services.network.reader import messages_by_path
from app.services.network.sections import Row, Section

CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class BlockEdit:
    """A pasted list for ``blocked_addresses`` or ``blocked_networks``.

    A line is ``address[,reason[,source[,expires_at]]]`` or ``cidr[,reason[,expires_at]]``. ``shared``
    has reason, source and end of lines without their own, as the network document writes them.
    """

    section: str
    text: str
    shared: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BlocksPreview:
    """What a pasted list would do. With an invalid line in it, none of it is saved.

    ``added`` are not blocked yet; ``extended`` are blocked, but end earlier than the list says;
    ``standing`` are blocked at least as long and stay as they are. ``repeated`` counts the lines that
    name the same as an earlier line.
    """

    added: tuple[str, ...]
    extended: tuple[str, ...]
    standing: tuple[str, ...]
    repeated: int
    invalid: tuple[InvalidLine, ...]
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class _SortedLines:
    changes: list[Change]
    typed: list[str]
    standing: list[Row]
    repeated: int
    invalid: list[InvalidLine]


def preview_blocks(gateway: Gateway, edit: BlockEdit) -> BlocksPreview:
    """Line by line what the list would do. Nothing is written.

    :raises Invalid: a shared value is impossible.
    """
    section = EDITABLE[edit.section]
    now = gateway.clock()
    with reading_consistently(gateway.engine) as connection:
        found = _sort(connection, section, edit)
        effects = tuple(_effects(connection, section, found, now))
    name = section.key[0]
    return BlocksPreview(
        added=tuple(c.row[name] for c in found.changes if c.before is None),
        extended=tuple(c.row[name] for c in found.changes if c.before is not None),
        standing=tuple(row[name] for row in found.standing),
        repeated=found.repeated,
        invalid=tuple(found.invalid),
        effects=effects,
    )


def save_blocks(gateway: Gateway, edit: BlockEdit, *, actor: Actor) -> Saved:
    """Add what the list names, in one transaction, and record it. Saving a list twice adds nothing.

    :raises Invalid: with every invalid line; then nothing has changed.
    """
    section = EDITABLE[edit.section]
    with writing(gateway.engine) as connection:
        found = _sort(connection, section, edit)
        if found.invalid:
            raise Invalid(FieldError("text", f"line {line.number} {line.reason}") for line in found.invalid)
        if not found.changes:
            return Saved((), None)
        # A list only ever blocks more, which waits for nobody.
        planned = Planned("blocks", {}, "network.block", found.changes)
        return save_changes(connection, gateway, actor, planned)


def _sort(connection: Connection, section: Section, edit: BlockEdit) -> _SortedLines:
    _check_shared(section, edit.shared)
    invalid: list[InvalidLine] = []
    wanted: dict[tuple[Any, ...], GoodLine] = {}
    repeated = 0
    for line in read_lines(section, edit.text, edit.shared):
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


def _effects(
    connection: Connection, section: Section, found: _SortedLines, now: datetime
) -> Iterator[Effect]:
    rows = [change.after for change in found.changes if change.after is not None]
    ended = sum(row["expires_at"] is not None and row["expires_at"] <= now for row in rows)
    if ended:
        yield Effect(f"{counted(ended, 'entry', 'entries')} with an end in the past: no effect")
    if section.name == "blocked_networks":
        yield from network_effects([row["cidr"] for row in rows])
        return
    yield from account_doubts(connection, found.typed)
    if rows and (ids := recent_transfers(connection, {row["address"].casefold() for row in rows}, now)):
        text = f"{counted(len(ids), 'transfer')} in the last 24 hours came from or went to one of these"
        yield Effect(text, transfer_ids=ids[:LISTED])
