"""Reads the bytes of a network document into rows, or reports every error in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from marshmallow import ValidationError

from app.services.network.rules import faults
from app.services.network.schema import NetworkDocumentSchema
from app.services.network.sections import SECTIONS, Row
from app.services.strict_json import UnreadableJson, loads

Document = Mapping[str, list[Row]]
"""The rows of each section, in the document's order."""

_SCHEMA: Final = NetworkDocumentSchema()
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST_KEY: Final = 80


class NetworkRefused(ValueError):
    """A document that was not taken. ``errors`` are sentences, each after the JSON path it is about."""

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
        raise NetworkRefused((f"the document {error}",)) from None
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
