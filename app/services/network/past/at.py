"""The configuration as it was: the rows of now, with every change since then taken back by the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.cooperation import in_turns
from app.domain.audit import AuditedChange, read_changes
from app.models.engine import reading_consistently
from app.queries.audit.rows import network_changes_since
from app.queries.network.rows import load_rows
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


class _Rows:
    """The documented rows of every section by their keys."""

    def __init__(self, rows: Mapping[str, Iterable[Documented]]) -> None:
        self.by_section: dict[str, dict[tuple[Any, ...], Documented]] = {
            section.name: {_identity(section, row): row for row in in_turns(rows[section.name])}
            for section in SECTIONS
        }

    def take_back(self, change: AuditedChange) -> bool:
        """Make a row what it was before the change; whether it was what the change had made of it."""
        section = section_of(change.subject, change.after or change.before or {})
        if section is None:
            return True
        rows = self.by_section[section.name]
        identity = _identity(section, change.after or change.before or {})
        known = rows.get(identity)
        # As a rule the texts are the same: the defaults of what they leave out are asked for only if not.
        fits = known == change.after or _whole(section, known) == _whole(section, change.after)
        if change.before is None:
            rows.pop(identity, None)
        else:
            rows[identity] = change.before
        return fits


def network_at(gateway: Gateway, at: datetime) -> NetworkAt:
    """The configuration as it was at a time, and what is different now."""
    count, gaps = 0, dict[str, None]()
    with reading_consistently(gateway.engine) as connection:
        present = {
            section.name: [section.documented(row) for row in in_turns(load_rows(connection, section.model))]
            for section in SECTIONS
        }
        then, now = _Rows(present), _Rows(present)
        for changes in network_changes_since(connection, at):
            count += 1
            for change in in_turns(reversed(read_changes(changes))):
                if not then.take_back(change):
                    gaps[change.subject] = None
    return NetworkAt(
        at,
        document_of({name: list(rows.values()) for name, rows in then.by_section.items()}),
        tuple(_differences(then, now)),
        count,
        tuple(gaps)[:_MOST_GAPS],
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
