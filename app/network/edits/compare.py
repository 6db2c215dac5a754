"""Compares a network document with the configuration, and makes the edits that apply picked differences."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from msgspec import Struct

from app.audit.records import AuditedChange, changes_text
from app.audit.services import Conflict, fingerprint
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading_consistently
from app.network.changes import Change, audited
from app.network.document import NetworkRefused, changes_between, read_document
from app.network.edits.results import FieldError, Invalid, counted
from app.network.edits.rows import Edits, edits_of
from app.network.queries import load_rows
from app.network.sections import SECTIONS
from app.values.amounts import grouped

__all__ = ["Compared", "Comparison", "NetworkRefused", "Picked", "compare_document", "picked_edits"]


class Compared(Struct, frozen=True):
    """The rows of a section that differ: as they are now, and as the document has them."""

    section: str
    changes: tuple[AuditedChange, ...]


class Comparison(Struct, frozen=True):
    """The differences by section, in the document's order. ``fingerprint`` is of all of them."""

    sections: tuple[Compared, ...]
    fingerprint: str

    @property
    def count(self) -> int:
        """How many rows differ."""
        return sum(len(section.changes) for section in self.sections)


class Picked(Struct, frozen=True):
    """The picked differences: rows by their names, and whole sections."""

    subjects: Collection[str]
    sections: Collection[str] = ()

    def takes(self, change: Change) -> bool:
        """Whether this change is picked."""
        subject = change.section.describe(change.row)
        return change.section.name in self.sections or subject in self.subjects


def compare_document(database: Database, text: bytes) -> Comparison:
    """The differences between the document and the configuration. Nothing is written.

    :raises NetworkRefused: it is no network document, with every error of the first stage that has any.
    """
    changes = _changes(database, text)
    changed = audited(changes)
    by_section: dict[str, list[AuditedChange]] = {section.name: [] for section in SECTIONS}
    for change, each in zip(changes, changed, strict=True):
        by_section[change.section.name].append(each)
    sections = (Compared(name, tuple(found)) for name, found in by_section.items() if found)
    return Comparison(tuple(sections), _fingerprint(changed))


def picked_edits(database: Database, text: bytes, picked: Picked, *, shown: str) -> Edits:
    """The edits that apply the picked differences of the document.

    :param shown: the fingerprint of the comparison from which it was picked.
    :raises NetworkRefused: as for the comparison.
    :raises Conflict: the configuration was changed since then.
    :raises Invalid: nothing is picked.
    """
    changes = _changes(database, text)
    if _fingerprint(audited(changes)) != shown:
        raise Conflict("the configuration was changed while you were editing; select again", ())
    wanted = [change for change in changes if picked.takes(change)]
    if not wanted:
        raise Invalid([FieldError("", "Select at least one difference")])
    rows = ((c.section, c.before) for c in in_turns(wanted) if c.before is not None)
    present = {section.describe(row): fingerprint(section.documented(row)) for section, row in rows}
    words = f"apply {grouped(len(wanted))} of {counted(len(changes), 'difference')} of a network document"
    return Edits(
        edits_of(wanted, present), "network.import", words, about="network document", as_document=True
    )


def _changes(database: Database, text: bytes) -> list[Change]:
    document = read_document(text)
    with reading_consistently(database.engine) as connection:
        present = {section.name: load_rows(connection, section.model) for section in SECTIONS}
    return changes_between(present, document)


def _fingerprint(changed: Sequence[AuditedChange]) -> str:
    return hashlib.sha256(changes_text(changed).encode()).hexdigest()
