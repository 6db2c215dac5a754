"""One line of the feed to one event, or to the reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, BinaryIO

from marshmallow import Schema, ValidationError, fields
from msgspec import Struct

from app import json_documents
from app.feed.schemas import MAX_ID, SCHEMAS
from app.json_documents import UnreadableJson, loads
from app.transfers.event_types import EventType
from app.transfers.events import EVENT_CLASSES, Event
from app.values.identifiers import MAX_CHAIN_ID

MAX_AHEAD = timedelta(minutes=10)
"""How far ahead of this clock an event's time may be: clocks differ, the future does not report."""

EARLIEST = datetime(2009, 1, 3, tzinfo=UTC)
"""The day of the first block of the first chain."""

TOO_EARLY = "at: must not be before 2009-01-03, when the first chain began"

TOO_FAR_AHEAD = "at: must not be more than 10 minutes ahead of the gateway's clock"

MAX_LINE_BYTES = 64 * 1024
"""The longest line of a reporter: a validator set of 500 members with the greatest powers."""

MAX_LOG_LINE_BYTES = 1024 * 1024
"""The longest line of an exported log, which has sets of any size that were read from a chain: 8,000 members
with the greatest powers, far more than can sign in one transaction."""


class RefusedLine(Struct, frozen=True):
    """A line that was not taken. ``line`` counts from 1; an unreadable id is empty."""

    line: int
    id: str
    reason: str


class ReadLine(Struct, frozen=True):
    """A line that could be read."""

    line: int
    event: Event
    limited_to: frozenset[int] | None = None
    """Of a line that an operator takes from an exported log the chains that its reporter was limited to."""


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream without holding more than one of them.

    Of a line that is too long only the beginning is given, still too long, so that it is refused.
    """
    while line := stream.readline(MAX_LOG_LINE_BYTES + 2):
        rest = line
        while len(rest) > MAX_LOG_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LOG_LINE_BYTES + 2)
        yield line.rstrip(b"\r\n")


def read_line(
    number: int, text: bytes, now: datetime, schemas: Mapping[EventType, Schema] = SCHEMAS
) -> ReadLine | RefusedLine | None:
    """Read one line; None for a blank one.

    :param schemas: the event types that the sender may report.
    """
    if not text.strip():
        return None
    if len(text) > MAX_LOG_LINE_BYTES:
        return RefusedLine(number, "", f"the line must have at most {MAX_LOG_LINE_BYTES} bytes")
    try:
        data = loads(text)
    except UnreadableJson as error:
        return RefusedLine(number, "", f"the line {error}")
    if not isinstance(data, dict):
        return RefusedLine(number, "", "the line must be a JSON object")
    event_id = data.get("id")
    shown_id = event_id if isinstance(event_id, str) and len(event_id) <= MAX_ID else ""
    try:
        event = _event(data, schemas)
        limited_to = _limits(data) if EventType.EVENTS_RETRACTED in schemas else None
    except ValidationError as error:
        return RefusedLine(number, shown_id, _sentence(error))
    return validated_by_time(ReadLine(number, event, limited_to), now)


def validated_by_time(line: ReadLine, now: datetime) -> ReadLine | RefusedLine:
    """The line, unless its event happened in the future, or before there were chains."""
    if line.event.at < EARLIEST:
        return RefusedLine(line.line, line.event.id, TOO_EARLY)
    if line.event.at > now + MAX_AHEAD:
        return RefusedLine(line.line, line.event.id, TOO_FAR_AHEAD)
    return line


def _event(data: dict[str, Any], schemas: Mapping[EventType, Schema]) -> Event:
    name = data.get("type")
    if not isinstance(name, str) or name not in schemas:
        raise ValidationError({"type": [f"must be one of {', '.join(schemas)}"]})
    event_type = EventType(name)
    schema = schemas[event_type]
    loaded = json_documents.load(schema, data)
    for name in _lists(schema) & loaded.keys():
        loaded[name] = tuple(loaded[name])
    return EVENT_CLASSES[event_type](**loaded)


def _limits(data: dict[str, Any]) -> frozenset[int] | None:
    limits = data.get("limited_to")
    if limits is None:
        return None
    if not isinstance(limits, list) or not all(_is_chain_id(chain_id) for chain_id in limits):
        raise ValidationError({"limited_to": ["Must be a list of chain ids"]})
    return frozenset(limits)


def _is_chain_id(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MAX_CHAIN_ID


@cache
def _lists(schema: Schema) -> frozenset[str]:
    """The fields that are lists in a line, and tuples in an event."""
    return frozenset(n for n, field in schema.load_fields.items() if isinstance(field, fields.List))


def _sentence(error: ValidationError) -> str:
    """The first complaint as ``path: what it must be``."""
    messages: Any = error.messages
    path: list[str] = []
    while isinstance(messages, dict):
        key, messages = next(iter(messages.items()))
        path.append(f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key))
    message = str(messages[0]) if isinstance(messages, list) else str(messages)
    return f"{''.join(path)}: {message[0].lower()}{message[1:]}"
