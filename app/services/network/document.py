"""Import and export of the network document (docs/interface.md#network-document)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy import Connection

from app.domain.audit import Actor
from app.models.engine import reading_consistently, writing
from app.queries.network.rows import load_rows
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.network.changes import Change, apply, compare, in_words
from app.services.network.guards import refusals
from app.services.network.reader import Document, NetworkRefused, read_document
from app.services.network.refold import FactsChanged, refold_after_network_change
from app.services.network.schema import DOCUMENT_VERSION
from app.services.network.sections import SECTIONS
from app.services.network.versions import raise_versions

__all__ = ["ImportResult", "NetworkRefused", "export_network", "import_network", "import_within"]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import changed, or would change: a sentence for each row, in the order of the document."""

    changes: tuple[str, ...]
    applied: bool


def import_network(gateway: Gateway, text: bytes, *, actor: Actor, dry_run: bool = False) -> ImportResult:
    """Make the document the whole configuration, all or nothing, in one transaction, and record it.

    Rows that agree with it are not written. So unchanged parts keep their versions, and unchanged routes
    the age of their base fee.

    :raises NetworkRefused: with every error; then nothing has changed.
    """
    document = read_document(text)
    if dry_run:
        with reading_consistently(gateway.engine) as connection:
            changes = _changes(connection, document)
        return ImportResult(tuple(map(str, changes)), applied=False)
    with writing(gateway.engine) as connection:
        now = gateway.clock()
        changes = import_within(connection, document, now)
        if changes:
            record(
                connection, gateway.audit_keys, actor, "network.import", "network document",
                now=now, detail=in_words(changes), changes=[change.audited for change in changes],
            )  # fmt: skip
    return ImportResult(tuple(map(str, changes)), applied=True)


def import_within(connection: Connection, document: Document, now: datetime) -> list[Change]:
    """As :func:`import_network`, within a transaction that the caller opened by ``writing`` and records.

    :returns: what changed, in the document's order.
    :raises NetworkRefused: for what the database refuses; the caller's transaction must then not commit.
    """
    changes = _changes(connection, document)
    if changes:
        apply(connection, changes, now)
        raise_versions(connection, {change.section.part for change in changes}, now)
        refold_after_network_change(connection, FactsChanged.by(changes), now)
    return changes


def export_network(gateway: Gateway) -> bytes:
    """The whole configuration as a document that imports without a change, indented, in UTF-8."""
    document: dict[str, object] = {"version": DOCUMENT_VERSION}
    with reading_consistently(gateway.engine) as connection:
        for section in SECTIONS:
            document[section.name] = [section.documented(row) for row in load_rows(connection, section.model)]
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _changes(connection: Connection, document: Document) -> list[Change]:
    changes = [
        change
        for section in SECTIONS
        for change in compare(section, load_rows(connection, section.model), document[section.name])
    ]
    if refused := tuple(refusals(connection, changes)):
        raise NetworkRefused(refused)
    return changes
