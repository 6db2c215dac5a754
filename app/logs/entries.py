"""Entries of the log as JSON, one object a line, for programs that collect logs (docs/logs.md)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import orjson
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict

from app.domain.wire_values import printable
from app.logs.lines import traced_lines
from app.logs.private import PRIVATE
from app.logs.served import SERVED
from app.logs.told import Several

_TRACES: Final = logging.Formatter()


class EntryFormatter(ProcessorFormatter):
    """Formats a record as one line of JSON, the exception within it.

    Texts are escaped as in lines: a program that prints them to a terminal meets no control character.
    """

    def __init__(self) -> None:
        super().__init__(processors=[_entry, _written])

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, a line for each entry. Several in one need no look at their texts."""
        if not isinstance(record.msg, Several):
            return super().format(record)
        own = _own(record)
        return "\n".join(
            [
                _json({"time": _written_time(told.at), **own, "message": told.message, **told.fields})
                for told in record.msg
            ]
        )


def _written_time(at: float) -> str:
    second, microseconds = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_written_second(second)}.{microseconds:06}Z"


@lru_cache(maxsize=4)
def _written_second(second: int) -> str:
    """Up to its second, which many entries share."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _own(record: logging.LogRecord) -> dict[str, Any]:
    """How grave an entry is, and whose."""
    return {
        "level": record.levelname,
        "logger": record.name,
        "pid": record.process,
    }


def _entry(_logger: object, _name: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    # The copy that is handed over has lost its traceback by now; the event has it.
    traced = logging.makeLogRecord({"exc_info": event.get("exc_info"), "stack_info": event.get("stack_info")})
    message, *trace = PRIVATE.without([event["event"], *traced_lines(_TRACES, traced)])
    entry = {"time": _written_time(record.created), **_own(record), "message": printable(message)}
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
