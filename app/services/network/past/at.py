"""The configuration as it was: the rows of now, with every change since then taken back by the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.cooperation import in_turns
from app.db.engine import reading_consistently
from app.domain.audit import AuditedChange, read_changes
from app.queries.audit import network_changes_since
from app.queries.network import load_rows
from app.runtime.gateway import Gateway
from app.services.network.document import document_of
from app.services.network.sections import SECTIONS, Section, key_of, section_of

Documented = Mapping[str, Any]

_MOST_GAPS: Final = 50


@dataclass(frozen=True, slots=True)
class NetworkAt:
    """The configuration at a time.

    :ivar document: it as a network document.
    :ivar changes: every row that is another one now: then and now, in the document's order.
    :ivar records: how many audit records were taken back.
    :ivar gaps: rows whose changes the log does not tell completely. They may have been others than it says.
    """

    at: datetime
    document: bytes
    changes: tuple[AuditedChange, ...]
    records: int
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the row that changes tell of is: its section and its identity, which come of these values."""

    section: Section
    identity: tuple[Any, ...]
    values: tuple[tuple[str, Any], ...]

    def is_of(self, documented: Documented) -> bool:
        """Whether the row has the same key, written the same way."""
        return all(documented.get(name) == value for name, value in self.values)


class _Rows:
    """The documented rows of every section by their keys.

    :ivar gaps: rows that a change does not fit to, in the order in which they were found.
    """

    def __init__(self, rows: Mapping[str, Iterable[Documented]]) -> None:
        self.by_section: dict[str, dict[tuple[Any, ...], Documented]] = {
            section.name: {_identity(section, row): row for row in in_turns(rows[section.name])}
            for section in SECTIONS
        }
        self.gaps: dict[str, None] = {}
        self._places: dict[str, _Place] = {}

    def take_back(self, change: AuditedChange) -> None:
        """Make a row what it was before the change; note one that was not what the change had made of it."""
        place = self._place_of(change.subject, change.after or change.before or {})
        if place is None:
            return
        section, identity = place.section, place.identity
        rows = self.by_section[section.name]
        if change.subject not in self.gaps:
            known = rows.get(identity)
            # As a rule the texts are the same: the defaults of what they leave out are asked for only if not.
            if known != change.after and _whole(section, known) != _whole(section, change.after):
                self.gaps[change.subject] = None
        if change.before is None:
            rows.pop(identity, None)
        else:
            rows[identity] = change.before

    def _place_of(self, subject: str, documented: Documented) -> _Place | None:
        """Found once for all the changes of a row, which may be thousands; None where it is about no row."""
        place = self._places.get(subject)
        if place is None or not place.is_of(documented):
            section = section_of(subject, documented)
            if section is None:
                return None
            key = key_of(section, documented) or {}
            names = (section.schema.fields[column].data_key or column for column in section.key)
            values = tuple((name, documented[name]) for name in names)
            place = self._places[subject] = _Place(section, section.identity(key), values)
        return place


def network_at(gateway: Gateway, at: datetime) -> NetworkAt:
    """The configuration as it was at a time, and what is different now."""
    count = 0
    with reading_consistently(gateway.engine) as connection:
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
            if _whole(section, before) != _whole(section, after):
                key = key_of(section, after or before or {}) or {}
                yield AuditedChange(section.describe(key), before, after)


def _identity(section: Section, documented: Documented) -> tuple[Any, ...]:
    return section.identity(key_of(section, documented) or {})


def _whole(section: Section, documented: Documented | None) -> Documented | None:
    """The row with the defaults of what it leaves out: a later release may leave out more."""
    return None if documented is None else section.with_defaults(documented)
