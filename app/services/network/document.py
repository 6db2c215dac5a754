"""Import and export of the network document (docs/interface.md#network-document)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import Connection

from app.db.engine import reading_consistently, writing
from app.domain.audit import Actor
from app.queries.network import load_rows, token_decimals
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.network.changes import Change, apply, audited, compare, in_brief
from app.services.network.guards import refusals
from app.services.network.pins import pins_too_long
from app.services.network.reader import Document, NetworkRefused, read_document
from app.services.network.refold import FactsChanged, refold_after_network_change
from app.services.network.schema import DOCUMENT_VERSION
from app.services.network.sections import SECTIONS
from app.services.network.versions import raise_versions
from app.services.network.waiting import sections_that_wait
from app.services.proposals.break_glass import require_leave

__all__ = ["ImportResult", "NetworkRefused", "export_network", "import_network", "import_within"]


_NOT_EMPTY: Final = (
    "the configuration is not empty, and this import would replace all of it, with its fees, balances and "
    "validators: export it first, or write the document with --print, edit it and import that"
)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import changed, or would change: a sentence for each row, in the order of the document.

    ``guarded`` are the sections among them that one person alone may not change.
    """

    changes: tuple[str, ...]
    applied: bool
    guarded: tuple[str, ...] = ()


def import_network(
    gateway: Gateway,
    text: bytes,
    *,
    actor: Actor,
    dry_run: bool = False,
    break_glass: str | None = None,
    only_first: bool = False,
) -> ImportResult:
    """Make the document the whole configuration, all or nothing, in one transaction, and record it.

    Rows that agree with it are not written. So unchanged parts keep their versions, and unchanged routes
    the age of their base fee.

    :param break_glass: why one person alone changes sections that ``TWO_PERSONS`` names.
    :param only_first: refuse it unless the configuration is empty.
    :raises NetworkRefused: with every error; then nothing has changed.
    :raises SecondPersonNeeded: it changes such sections, and ``break_glass`` is not given.
    """
    document = read_document(text)
    if dry_run:
        with reading_consistently(gateway.engine) as connection:
            changes = _changes(connection, document, gateway.clock(), only_first=only_first)
        guarded = sections_that_wait(gateway.two_persons, changes)
        return ImportResult(tuple(map(str, changes)), applied=False, guarded=tuple(guarded))
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        changes = import_within(connection, document, now, only_first=only_first)
        guarded = sections_that_wait(gateway.two_persons, changes)
        require_leave(
            connection, gateway, actor, guarded, subject="network document", break_glass=break_glass
        )
        if changes:
            record(
                connection, gateway.audit_keys, actor, "network.import", "network document",
                now=now, detail=in_brief(changes, token_decimals(connection)), changes=audited(changes),
            )  # fmt: skip
    return ImportResult(tuple(map(str, changes)), applied=True, guarded=tuple(guarded))


def import_within(
    connection: Connection, document: Document, now: datetime, *, only_first: bool = False
) -> list[Change]:
    """As :func:`import_network`, within a transaction that the caller opened by ``writing`` and records.

    :returns: what changed, in the document's order.
    :raises NetworkRefused: for what the database refuses; the caller's transaction must then not commit.
    """
    changes = _changes(connection, document, now, only_first=only_first)
    if changes:
        apply(connection, changes, now)
        raise_versions(connection, {change.section.part for change in changes}, now)
        refold_after_network_change(connection, FactsChanged.by(changes), now)
    return changes


def export_network(gateway: Gateway) -> bytes:
    """The whole configuration as a document that imports without a change, indented, in UTF-8."""
    with reading_consistently(gateway.engine) as connection:
        rows = {
            section.name: [section.documented(row) for row in load_rows(connection, section.model)]
            for section in SECTIONS
        }
    return document_of(rows)


def document_of(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    """Documented rows, by section, as a network document."""
    document: dict[str, object] = {"version": DOCUMENT_VERSION}
    for section in SECTIONS:
        if rows[section.name] or not section.optional:
            document[section.name] = rows[section.name]
    return written(document)


def written(document: Mapping[str, object]) -> bytes:
    """A document as it is exported."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _changes(
    connection: Connection, document: Document, now: datetime, *, only_first: bool = False
) -> list[Change]:
    present = {section.name: load_rows(connection, section.model) for section in SECTIONS}
    if only_first and any(present.values()):
        raise NetworkRefused((_NOT_EMPTY,))
    changes = changes_between(present, document)
    if refused := (*refusals(connection, changes), *pins_too_long(changes, now)):
        raise NetworkRefused(refused)
    return changes


def changes_between(present: Document, document: Document) -> list[Change]:
    """What the document would change in the rows of now, whether or not it would be taken."""
    return [
        change
        for section in SECTIONS
        for change in compare(section, present[section.name], document[section.name])
    ]
