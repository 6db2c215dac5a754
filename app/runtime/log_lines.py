"""Lines of the log: one a message, whatever is in it. Nobody outside can write a line of their own."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from typing import Final

from app.domain.printable import printable

LINE: Final = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
TIME: Final = "%Y-%m-%dT%H:%M:%S%z"

_TRACE: Final = "  | "
"""What each line of a traceback begins with: no message does."""

_HEAD: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} INFO \d+ app\.services\.audit\.record: "
    r"audit head (\d{1,18}:[0-9a-f]{64}) .*",
    re.ASCII,
)


class LineFormatter(logging.Formatter):
    """Formats as its base does, with a message in one line and the lines of a traceback marked."""

    def __init__(self, fmt: str = LINE, datefmt: str | None = TIME) -> None:
        super().__init__(fmt, datefmt)

    def format(self, record: logging.LogRecord) -> str:
        """The record as text. Its cached traceback is not used: other formatters do not mark it."""
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        line = printable(self.formatMessage(record))
        return "\n".join([line, *(f"{_TRACE}{printable(traced)}" for traced in self._trace(record))])

    def _trace(self, record: logging.LogRecord) -> Iterator[str]:
        if record.exc_info:
            yield from self.formatException(record.exc_info).split("\n")
        if record.stack_info:
            yield from self.formatStack(record.stack_info).split("\n")


def format_by_lines(handlers: Iterable[logging.Handler]) -> None:
    """Let handlers that others have set up keep their format, in lines."""
    for handler in handlers:
        known = handler.formatter
        if known is None:
            handler.setFormatter(LineFormatter("%(message)s"))
        elif not isinstance(known, LineFormatter):
            handler.setFormatter(LineFormatter(known._fmt or "%(message)s", known.datefmt))


def format_last_resort_by_lines() -> None:
    """The same for warnings of a process that has set up no logging, such as a command."""
    if logging.lastResort is not None:
        format_by_lines([logging.lastResort])


def audit_heads(lines: Iterable[str]) -> Iterator[str]:
    """The heads ``ID:MAC`` that were logged for records of the audit log: not what other lines say."""
    for line in lines:
        if match := _HEAD.fullmatch(line.rstrip("\r\n")):
            yield match[1]
