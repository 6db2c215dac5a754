"""Reads one line of the feed into one event, or into the reason why it is refused, and writes lines of an
exported log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

import orjson
from msgspec import Struct
from sqlalchemy import Row

from app.json_documents import UnreadableJson, loads
from app.transfers.rules.events.codec import read_event
from app.transfers.rules.events.event_types import REPORTED, ChainReorged, Event, EventsRetracted
from app.transfers.rules.events.fields import MAX_ID, Misread
from app.values.identifiers import MAX_CHAIN_ID

MAX_AHEAD = timedelta(minutes=10)  # of this clock, because clocks differ
EARLIEST = datetime(2009, 1, 3, tzinfo=UTC)
TOO_EARLY = "at: must not be before 2009-01-03, when the first chain began"
TOO_FAR_AHEAD = "at: must not be more than 10 minutes ahead of the gateway's clock"

MAX_LINE_BYTES = 64 * 1024
"""The longest line of a reporter: a validator set of 500 members with the greatest powers."""

MAX_LOG_LINE_BYTES = 1024 * 1024
"""The longest line of an exported log, which has sets of any size that were read from a chain: 8,000 members
with the greatest powers, far more than can sign in one transaction."""


class RefusedLine(Struct, frozen=True):
    """A line that was refused. ``line`` counts from 1; an unreadable id is empty."""

    line: int
    id: str
    reason: str


class ReadLine(Struct, frozen=True):
    """A line that could be read.

    :param limited_to: in an exported log, the chains that its reporter was limited to.
    :param is_belated: in an exported log, a reorganisation that was logged as a belated one.
    :param is_exported: the line is of an exported log.
    """

    line: int
    event: Event
    limited_to: frozenset[int] | None = None
    is_belated: bool = False
    is_exported: bool = False


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream without holding more than one of them.

    Only the beginning of a too long line is yielded, itself still too long, so that it is refused.
    """
    while line := stream.readline(MAX_LOG_LINE_BYTES + 2):
        rest = line
        while len(rest) > MAX_LOG_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LOG_LINE_BYTES + 2)
        yield line.rstrip(b"\r\n")


def read_line(
    number: int, text: bytes, now: datetime, types: Collection[str] = REPORTED
) -> ReadLine | RefusedLine | None:
    """Read one line; None for a blank one.

    :param types: the event types that the sender may report.
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
        event = _event(data, types)
        is_exported = EventsRetracted.type in types
        limited_to = _limits(data) if is_exported else None
        is_belated = is_exported and isinstance(event, ChainReorged) and _is_belated(data)
    except Misread as fault:
        return RefusedLine(number, shown_id, str(fault))
    line = ReadLine(number, event, limited_to, is_belated, is_exported and "seq" in data)
    return validated_by_time(line, now)


def validated_by_time(line: ReadLine, now: datetime) -> ReadLine | RefusedLine:
    """The line, unless its event happened in the future, or before there were chains."""
    if line.event.at < EARLIEST:
        return RefusedLine(line.line, line.event.id, TOO_EARLY)
    if line.event.at > now + MAX_AHEAD:
        return RefusedLine(line.line, line.event.id, TOO_FAR_AHEAD)
    return line


def exported_line(row: Row[*tuple[Any, ...]]) -> bytes:
    """The line of an exported log for an acceptance, with all columns of its row."""
    receipt = {
        "seq": row.seq,
        "id": row.event_id,
        "type": row.type,
        "reporter": row.reporter,
        "received_at": row.received_at.isoformat(),
    }
    if row.limited_to is not None:
        receipt["limited_to"] = sorted(row.limited_to)
    if row.type == ChainReorged.type and row.block is None:
        receipt["belated"] = True
    return orjson.dumps(receipt | orjson.loads(row.body), option=orjson.OPT_APPEND_NEWLINE)


def _event(data: dict[str, Any], types: Collection[str]) -> Event:
    event_type = data.get("type")
    if not isinstance(event_type, str) or event_type not in types:
        raise Misread("type", f"must be one of {', '.join(types)}")
    return read_event(event_type, data)


def _limits(data: dict[str, Any]) -> frozenset[int] | None:
    limits = data.get("limited_to")
    if limits is None:
        return None
    if not isinstance(limits, list) or not all(_is_chain_id(chain_id) for chain_id in limits):
        raise Misread("limited_to", "must be a list of chain ids")
    return frozenset(limits)


def _is_belated(data: dict[str, Any]) -> bool:
    belated = data.get("belated")
    if belated is not None and not isinstance(belated, bool):
        raise Misread("belated", "must be true or false")
    return bool(belated)


def _is_chain_id(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MAX_CHAIN_ID
