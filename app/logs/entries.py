"""Entries of the log as JSON, one object a line, for programs that collect logs (docs/logs.md)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict

from app.domain.printable import printable
from app.logs.lines import traced_lines
from app.logs.private import PRIVATE
from app.logs.served import FIELDS, SERVED

_TRACES: Final = logging.Formatter()


class EntryFormatter(ProcessorFormatter):
    """Formats a record as one line of JSON, the exception within it.

    Texts are escaped as in lines: a program that prints them to a terminal meets no control character.
    """

    def __init__(self) -> None:
        super().__init__(processors=[_entry, _written])

    def format(self, record: logging.LogRecord) -> str:
        """The record as text. One that says what its fields are needs no look at its text."""
        fields = getattr(record, FIELDS, None)
        if fields is None:
            return super().format(record)
        return _json(_head(record) | {"message": record.getMessage()} | fields)


def _head(record: logging.LogRecord) -> dict[str, Any]:
    """What every entry begins with: when, how grave, whose."""
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
    return {
        "time": at.replace("+00:00", "Z"),
        "level": record.levelname,
        "logger": record.name,
        "pid": record.process,
    }


def _entry(_logger: object, _name: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    # The copy that is handed over has lost its traceback by now; the event has it.
    traced = logging.makeLogRecord({"exc_info": event.get("exc_info"), "stack_info": event.get("stack_info")})
    message, *trace = PRIVATE.without([event["event"], *traced_lines(_TRACES, traced)])
    entry = {**_head(record), "message": printable(message)}
    if served := SERVED.get():
        entry |= {"request_id": served.id, "operation": served.operation}
        if served.trace_id:
            entry["trace_id"] = served.trace_id
    if trace:
        entry["exception"] = "\n".join(map(printable, trace))
    return entry


def _written(_logger: object, _name: str, event: EventDict) -> str:
    return _json(dict(event))


def _json(entry: dict[str, Any]) -> str:
    return orjson.dumps(entry, default=str).decode()
