"""Lines of the log: one a message, whatever is in it. Nobody outside can write a line of their own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from app.domain.printable import printable
from app.logs.private import PRIVATE
from app.logs.served import FIELDS, SERVED

LINE: Final = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
TIME: Final = "%Y-%m-%dT%H:%M:%S%z"

_TRACE: Final = "  | "
"""What each line of a traceback begins with: no message does."""


class LineFormatter(logging.Formatter):
    """Formats as its base does, with a message in one line and the lines of a traceback marked.

    The message of a request that is being served ends with its id.
    """

    def __init__(self, fmt: str = LINE, datefmt: str | None = TIME) -> None:
        super().__init__(fmt, datefmt)

    def format(self, record: logging.LogRecord) -> str:
        """The record as text. Its cached traceback is not used: other formatters do not mark it."""
        record.message, *trace = PRIVATE.without([record.getMessage(), *traced_lines(self, record)])
        if request_id := _request_of(record):
            record.message += f" (request {request_id})"
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        line = printable(self.formatMessage(record))
        return "\n".join([line, *(f"{_TRACE}{printable(traced)}" for traced in trace)])


def _request_of(record: logging.LogRecord) -> str | None:
    """The id of the request that a record is about."""
    fields: dict[str, str] | None = getattr(record, FIELDS, None)
    if fields is not None:
        return fields.get("request_id")
    served = SERVED.get()
    return served.id if served else None


def traced_lines(formatter: logging.Formatter, record: logging.LogRecord) -> Iterator[str]:
    """The lines of a record's traceback and of its stack, still to be escaped."""
    if record.exc_info:
        yield from formatter.formatException(record.exc_info).split("\n")
    if record.stack_info:
        yield from formatter.formatStack(record.stack_info).split("\n")
