"""Lines of the log: one a message, whatever is in it. Nobody outside can write a line of their own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from copy import copy
from typing import Final

from app.domain.wire_values import printable
from app.logs.private import PRIVATE
from app.logs.served import SERVED
from app.logs.told import Several, Told

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
        if isinstance(record.msg, Several):
            return "\n".join([self._line_of(record, told) for told in record.msg])
        message, *trace = PRIVATE.without([record.getMessage(), *traced_lines(self, record)])
        served = SERVED.get()
        line = self._line(record, message, served.id if served else None)
        return "\n".join([line, *(f"{_TRACE}{printable(traced)}" for traced in trace)])

    def _line_of(self, record: logging.LogRecord, told: Told) -> str:
        one = copy(record)
        one.created, one.msecs = told.at, told.at % 1 * 1000
        return self._line(one, told.message, told.fields.get("request_id"))

    def _line(self, record: logging.LogRecord, message: str, request_id: object) -> str:
        record.message = f"{message} (request {request_id})" if request_id else message
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        return printable(self.formatMessage(record))


def traced_lines(formatter: logging.Formatter, record: logging.LogRecord) -> Iterator[str]:
    """The lines of a record's traceback and of its stack, still to be escaped."""
    if record.exc_info:
        yield from formatter.formatException(record.exc_info).split("\n")
    if record.stack_info:
        yield from formatter.formatStack(record.stack_info).split("\n")
