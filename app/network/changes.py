"""The changes that a document or an edit makes to the tables: in words, as statements, in the versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

import orjson
from msgspec import Struct
from sqlalchemy import Connection, Table, bindparam, delete, insert, update

from app.audit.rules.records import AuditedChange
from app.cooperation import in_turns
from app.db.engine import HandedIn
from app.db.upserts import upsert
from app.network.models import NetworkPart
from app.network.queries import load_versions
from app.network.sections import SECTIONS, Part, Row, Section
from app.values.amounts import tokens_text

NETWORK_CHANGED: Final = HandedIn[["Sequence[Change]", datetime], None]("network_change")
"""The moment when rows of the network were changed. Receivers get the changes and the time."""


def raise_versions(connection: Connection, parts: Iterable[Part], now: datetime) -> None:
    """Raise the versions of parts, in the writing transaction of the change."""
    before = load_versions(connection)
    upsert(
        connection,
        NetworkPart,
        [
            {
                "part": part.value,
                "version": before[part].version + 1 if part in before else 1,
                "changed_at": now,
            }
            for part in sorted(set(parts))
        ],
    )


_LONGEST_IN_A_MESSAGE: Final = 60

Decimals = Mapping[tuple[int, str], int]
"""Decimals of tokens by chain id and symbol."""


class Change(Struct, frozen=True):
    """One row that is added (no ``before``), removed (no ``after``) or changed.

    ``index`` is the row's index in its section of the document, None for one that is removed.
    """

    section: Section
    before: Row | None
    after: Row | None
    index: int | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that differ; all of them for a row that is added or removed."""
        names = tuple(self.after or self.before or ())
        if self.before is None or self.after is None:
            return names
        before, after = self.before, self.after
        return tuple(name for name in names if before[name] != after[name])

    @property
    def row(self) -> Row:
        """The row before the change; the new one where it is added."""
        return cast(Row, self.before or self.after)

    @property
    def audited(self) -> AuditedChange:
        """The change as the audit log stores it: whole rows as the document writes them."""
        before, after = (
            None if row is None else self.section.documented(row) for row in (self.before, self.after)
        )
        return AuditedChange(self.section.describe(self.row), before, after)

    def __str__(self) -> str:
        name = self.section.describe(self.row)
        if self.before is None:
            return f"add {name}"
        if self.after is None:
            return f"remove {name}"
        return f"change {name}: {', '.join(self._edits(self.before, self.after))}"

    def brief(self, decimals: Decimals, *, done: bool = True) -> str:
        """The change in a sentence: amounts in tokens, other short values as they are, the rest by name.

        :param done: whether it has been made, or is only proposed.
        """
        name = self.section.describe(self.row)
        if self.before is None:
            return f"{'added' if done else 'add'} {name}"
        if self.after is None:
            return f"{'removed' if done else 'remove'} {name}"
        old, new = self.section.written_out(self.before), self.section.written_out(self.after)
        edits = (
            _brief(self._label(key), *(_in_tokens(self, key, row[key], decimals) for row in (old, new)))
            for key in new
            if old[key] != new[key]
        )
        return f"{'changed' if done else 'change'} {name}: {'; '.join(edits)}"

    def _label(self, key: str) -> str:
        """What forms call a field, within a sentence; one that no form has by its name."""
        column = self.section.columns.get(key)
        label = (column.label if column else "") or key.replace("_", " ")
        return label if label[1:2].isupper() else label[:1].lower() + label[1:]

    def _edits(self, before: Row, after: Row) -> Iterator[str]:
        old, new = self.section.written_out(before), self.section.written_out(after)
        for key in new:
            before_text, after_text = _shown(old[key]), _shown(new[key])
            if before_text != after_text:
                yield f"{key} from {before_text} to {after_text}"


def _shown(value: Any) -> str:
    return orjson.dumps(value).decode()


def _in_tokens(change: Change, key: str, value: Any, decimals: Decimals) -> Any:
    """An amount with its token where the decimals are known; any other value unchanged."""
    column = change.section.columns.get(key)
    unit = None if column is None else column.unit
    if not isinstance(value, str) or unit is None or unit.symbol != "symbol":
        return value
    row = change.row
    of, _, part = unit.decimals.partition(".")
    places = row[of].get(part) if part else row[of] if of else None
    if places is None and unit.chain:
        places = decimals.get((row[unit.chain], row["symbol"]))
    return value if places is None else tokens_text(int(value), places, row["symbol"])


def _brief(name: str, old: Any, new: Any) -> str:
    if isinstance(old, bool) and isinstance(new, bool):
        start, _, last = name.rpartition(" ")
        ended = f"{start} no longer {last}" if last == "stopped" else f"no longer {name}"
        return name if new else ended.strip()
    shown = [_in_a_message(value) for value in (old, new)]
    return name if None in shown else f"{name} from {shown[0]} to {shown[1]}"


def _in_a_message(value: Any) -> str | None:
    """A value as people write it; None where it is long or has parts."""
    if value is None or value == "":
        return "none"
    text = str(value) if isinstance(value, str | int) else ""
    return text if 0 < len(text) <= _LONGEST_IN_A_MESSAGE and "\n" not in text else None


def audited(changes: Iterable[Change]) -> list[AuditedChange]:
    return [change.audited for change in in_turns(changes)]


def in_brief(changes: Sequence[Change], decimals: Decimals, *, done: bool = True) -> str:
    """The changes in a sentence: a single one by its fields, several as counts."""
    if len(changes) == 1:
        return changes[0].brief(decimals, done=done)
    came = sum(change.before is None for change in changes)
    went = sum(change.after is None for change in changes)
    return f"{came} added, {len(changes) - came - went} changed, {went} removed"


def compare(section: Section, present: Iterable[Row], wanted: Iterable[Row]) -> list[Change]:
    """The changes from the present rows to the wanted ones."""
    rest = {section.identity(row): row for row in in_turns(present)}
    found = []
    for index, after in enumerate(in_turns(wanted)):
        before = rest.pop(section.identity(after), None)
        if before is None or any(before[name] != value for name, value in after.items()):
            found.append(Change(section, before, after, index))
    return [Change(section, row, None, None) for row in rest.values()] + found


def apply(connection: Connection, changes: Sequence[Change], now: datetime) -> None:
    """Write the changes, raise the versions of their parts, and call ``NETWORK_CHANGED``."""
    by_section: dict[str, list[Change]] = {}
    for change in changes:
        by_section.setdefault(change.section.name, []).append(change)
    # Each section refers only to earlier ones.
    for section in reversed(SECTIONS):
        _delete(connection, section, by_section.get(section.name, ()))
    for section in SECTIONS:
        _write(connection, section, by_section.get(section.name, ()), now)
    raise_versions(connection, {change.section.part for change in changes}, now)
    NETWORK_CHANGED(connection, changes, now)


def _delete(connection: Connection, section: Section, changes: Iterable[Change]) -> None:
    going = [{"row": change.before["id"]} for change in changes if change.before and not change.after]
    if going:
        table = _table(section)
        connection.execute(delete(table).where(table.c.id == bindparam("row")), going)


def _write(connection: Connection, section: Section, changes: Iterable[Change], now: datetime) -> None:
    table, coming = _table(section), []
    for change in changes:
        if change.after is None:
            continue
        if change.before is None:
            coming.append(change.after | _times(section, change.after, now))
            continue
        edits = {name: change.after[name] for name in change.columns}
        edits |= _times(section, edits, now)
        connection.execute(update(table).where(table.c.id == change.before["id"]).values(edits))
    if coming:
        connection.execute(insert(table), coming)


def _times(section: Section, written: Mapping[str, Any], now: datetime) -> dict[str, datetime | None]:
    """For the age of a configured base fee (docs/interface/estimates.md#base-fee-age), and since when a chain
    is stopped.
    """
    if section.name == "routes" and "base_fee" in written:
        return {"base_fee_changed_at": now}
    if section.name == "chains" and "disabled" in written:
        return {"disabled_at": now if written["disabled"] else None}
    return {}


def _table(section: Section) -> Table:
    return cast(Table, section.model.__table__)
