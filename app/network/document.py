"""Import and export of the network document (docs/network.md#rules)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from marshmallow import ValidationError
from msgspec import Struct
from sqlalchemy import Connection

from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.proposals import carry_out
from app.audit.keys import AuditKeys
from app.audit.previews import TriedRoute
from app.audit.rules.records import Actor
from app.db.database import Database
from app.db.engine import reading_consistently, writing
from app.json_documents import UnreadableJson, loads
from app.network.changes import Change, apply, compare
from app.network.edits.save import Description, NetworkChange, network_change
from app.network.edits.tried_routes import names_in, shown, try_change
from app.network.queries import load_rows
from app.network.row_checks import faults, pins_too_long, refusals
from app.network.schemas import DOCUMENT_VERSION, document_schema
from app.network.sections import SECTIONS, Row

Document = Mapping[str, list[Row]]
"""The rows of each section, in the document's order."""

_SCHEMA: Final = document_schema({section.name: section.schema for section in SECTIONS})
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST_KEY: Final = 80


class NetworkRefused(ValueError):
    """A refused document. ``errors`` are sentences, each after the JSON path it is about."""

    def __init__(self, errors: tuple[str, ...]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors


def read_document(text: bytes) -> Document:
    """Read a document and check everything that can be checked without the database.

    :raises NetworkRefused: with every error of the first stage that has any: JSON, the shape of
        the parts, the rules between them.
    """
    try:
        data = loads(text)
    except UnreadableJson as error:
        raise NetworkRefused((f"the document {error}: correct it there",)) from None
    return read_rows(data)


def read_rows(data: Any) -> Document:
    """As :func:`read_document`, of a document as plain data."""
    try:
        read: dict[str, Any] = _SCHEMA.load(data)
    except ValidationError as error:
        raise NetworkRefused(
            tuple(
                f"{path or 'the document'}: {message}" for path, message in messages_by_path(error.messages)
            )
        ) from None
    document = {section.name: read[section.name] for section in SECTIONS}
    if broken := tuple(faults(document)):
        raise NetworkRefused(broken)
    return document


def messages_by_path(messages: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Marshmallow's nested messages, each after its path (``routes[3].rate.value``; empty for the whole)."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            yield from messages_by_path(inner, path if key == "_schema" else _join(path, key))
        return
    for message in messages if isinstance(messages, list) else [messages]:
        yield path, message


def _join(path: str, key: Any) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(str(key)):
        shown = json.dumps(str(key)[:_LONGEST_KEY])
        return f"{path}[{shown}]"
    return f"{path}.{key}" if path else str(key)


_NOT_EMPTY: Final = (
    "the configuration is not empty, and this import would replace all of it, with its fees, balances and "
    "validators: export it first, or write the document with --print, edit it and import that"
)


_SUBJECT: Final = "network document"
"""What an import is about in the audit log."""


class ImportResult(Struct, frozen=True):
    """The changes of an import, or of a dry run: a sentence for each row, in the order of the document.

    ``guarded`` are the changed sections that need a second person. ``trials`` are those of the
    routes that it opens or changes.
    """

    changes: tuple[str, ...]
    applied: bool
    guarded: tuple[str, ...] = ()
    trials: tuple[TriedRoute, ...] = ()


def import_network(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    text: bytes,
    *,
    actor: Actor,
    dry_run: bool = False,
    break_glass: str | None = None,
    only_first: bool = False,
) -> ImportResult:
    """Make the document the whole configuration, all or nothing, in one transaction, and record it.

    Rows that agree with it are not written: the versions of unchanged parts stay, and the age of the base fee
    of unchanged routes.

    :param break_glass: why one person changes sections that ``TWO_PERSONS`` names without a second.
    :param only_first: refuse it unless the configuration is empty.
    :raises NetworkRefused: with every error; then nothing has changed.
    :raises SecondPersonNeeded: it changes such sections, and ``break_glass`` is not given.
    """
    document = read_document(text)
    with (reading_consistently if dry_run else writing)(database.engine) as connection:
        now = database.clock()
        planned = _planned(connection, document, now, only_first=only_first)
        tried = try_change(connection, planned.before, planned.after, now)
        if not dry_run:
            carry_out(connection, database, audit_keys, two_persons, actor, planned, break_glass=break_glass)
    guarded = tuple(planned.guarded(two_persons))
    return ImportResult(planned.sentences, not dry_run, guarded, shown(tried, names_in(planned.after)))


def import_within(connection: Connection, document: Document, now: datetime) -> Sequence[Change]:
    """As :func:`import_network`, within a transaction that the caller opened by ``writing`` and records.
    Returns what changed, in the document's order.

    :raises NetworkRefused: for what the database refuses; the caller's transaction must then not commit.
    """
    changes = _planned(connection, document, now).rows
    if changes:
        apply(connection, changes, now)
    return changes


def export_network(database: Database) -> bytes:
    """The whole configuration as a document that imports without a change, indented, in UTF-8."""
    with reading_consistently(database.engine) as connection:
        rows = {
            section.name: [section.documented(row) for row in load_rows(connection, section.model)]
            for section in SECTIONS
        }
    return document_of(rows)


def document_of(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    document: dict[str, object] = {"version": DOCUMENT_VERSION}
    for section in SECTIONS:
        if rows[section.name] or not section.optional:
            document[section.name] = rows[section.name]
    return written(document)


def written(document: Mapping[str, object]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _planned(
    connection: Connection, document: Document, now: datetime, *, only_first: bool = False
) -> NetworkChange:
    """The change that the import makes. No page previews it, so it has neither effects nor trials."""
    present = {section.name: load_rows(connection, section.model) for section in SECTIONS}
    if only_first and any(present.values()):
        raise NetworkRefused((_NOT_EMPTY,))
    changes = changes_between(present, document)
    if refused := (*refusals(connection, changes), *pins_too_long(changes, now)):
        raise NetworkRefused(refused)
    described = Description("", {}, "network.import", lambda *_: (), about=_SUBJECT)
    return network_change(described, changes, present, document, {})


def changes_between(present: Document, document: Document) -> list[Change]:
    """The changes that the document would make in the present rows, whether or not it would be accepted."""
    return [
        change
        for section in SECTIONS
        for change in compare(section, present[section.name], document[section.name])
    ]
