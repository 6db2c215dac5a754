"""Blocking many addresses or networks at once: a pasted list adds to what is blocked, never removes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from marshmallow import ValidationError
from sqlalchemy import Connection

from app.domain.audit import Actor
from app.models.engine import reading_consistently, writing
from app.queries.transfers.usage import rows_with
from app.runtime.gateway import Gateway
from app.services.audit.results import Effect, FieldError, Invalid, Saved, counted
from app.services.network.changes import Change
from app.services.network.edits.edit import save_changes
from app.services.network.edits.effects import network_effects, recent_transfers
from app.services.network.edits.pasted_lines import InvalidLine, read_lines
from app.services.network.edits.planning import EDITABLE
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
    """What a pasted list would do. With a wrong line in it, it is not taken.

    ``added`` come; ``extended`` are blocked already, but not, or not as long as the list says;
    ``standing`` are blocked at least as long: they stay as they are. ``repeated`` lines name what an
    earlier line does.
    """

    added: tuple[str, ...]
    extended: tuple[str, ...]
    standing: tuple[str, ...]
    repeated: int
    wrong: tuple[InvalidLine, ...]
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class _Sorted:
    changes: list[Change]
    standing: list[Row]
    repeated: int
    wrong: list[InvalidLine]


def preview_blocks(gateway: Gateway, edit: BlockEdit) -> BlocksPreview:
    """Line by line what the list would do. Nothing is written.

    :raises Invalid: the shared values cannot be.
    """
    section = EDITABLE[edit.section]
    now = gateway.clock()
    with reading_consistently(gateway.engine) as connection:
        found = _sort(connection, section, edit)
        effects = tuple(_effects(connection, section, found.changes, now))
    name = section.key[0]
    return BlocksPreview(
        added=tuple(c.row[name] for c in found.changes if c.before is None),
        extended=tuple(c.row[name] for c in found.changes if c.before is not None),
        standing=tuple(row[name] for row in found.standing),
        repeated=found.repeated,
        wrong=tuple(found.wrong),
        effects=effects,
    )


def save_blocks(gateway: Gateway, edit: BlockEdit, *, actor: Actor) -> Saved:
    """Add what the list names, in one transaction, and record it. Saving a list twice adds nothing.

    :raises Invalid: with every wrong line; then nothing has changed.
    """
    section = EDITABLE[edit.section]
    with writing(gateway.engine) as connection:
        found = _sort(connection, section, edit)
        if found.wrong:
            raise Invalid(FieldError("text", f"line {line.number} {line.reason}") for line in found.wrong)
        if not found.changes:
            return Saved((), None)
        return save_changes(connection, gateway, actor, "network.block", found.changes)


def _sort(connection: Connection, section: Section, edit: BlockEdit) -> _Sorted:
    _check_shared(section, edit.shared)
    wrong: list[InvalidLine] = []
    wanted: dict[tuple[Any, ...], Row] = {}
    repeated = 0
    for line in read_lines(section, edit.text, edit.shared):
        if isinstance(line, InvalidLine):
            wrong.append(line)
        elif section.identity(line.row) in wanted:
            repeated += 1
        else:
            wanted[section.identity(line.row)] = line.row
    blocked = {section.identity(row): row for row in _standing(connection, section, wanted.values())}
    changes, standing = [], []
    for identity, row in wanted.items():
        before = blocked.get(identity)
        if before is None:
            changes.append(Change(section, None, row, None))
        elif _lasts_longer(row["expires_at"], before["expires_at"]):
            changes.append(Change(section, before, row | {section.key[0]: before[section.key[0]]}, None))
        else:
            standing.append(row)
    return _Sorted(changes, standing, repeated, wrong)


def _check_shared(section: Section, shared: Mapping[str, Any]) -> None:
    """The shared values by themselves: else every line would tell of the same mistake."""
    try:
        section.schema.load(dict(shared), partial=True)
    except ValidationError as error:
        raise Invalid(FieldError(*pair) for pair in messages_by_path(error.messages)) from None


def _standing(connection: Connection, section: Section, rows: Iterable[Row]) -> Iterator[Row]:
    column = section.key[0]
    values = [row[column] for row in rows]
    for start in range(0, len(values), CHUNK):
        yield from rows_with(connection, section.model, column, values[start : start + CHUNK])


def _lasts_longer(until: datetime | None, than: datetime | None) -> bool:
    """Whether one end is later than the other; None is never."""
    return than is not None and (until is None or until > than)


def _effects(
    connection: Connection, section: Section, changes: list[Change], now: datetime
) -> Iterator[Effect]:
    rows = [change.after for change in changes if change.after is not None]
    ended = sum(row["expires_at"] is not None and row["expires_at"] <= now for row in rows)
    if ended:
        yield Effect(f"{counted(ended, 'line')} with an end that has passed already: they block nothing")
    if section.name == "blocked_networks":
        yield from network_effects([row["cidr"] for row in rows])
    elif rows and (count := recent_transfers(connection, {row["address"].casefold() for row in rows}, now)):
        yield Effect(f"{counted(count, 'transfer')} of the last 24 hours came from or went to one of these")
