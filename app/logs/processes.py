"""How the processes of the gateway are made to write their logs: server, watcher, sender, commands."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Literal

from app.logs.entries import EntryFormatter
from app.logs.lines import LineFormatter

LogFormat = Literal["console", "json"]

_log = logging.getLogger("app")


def formatter_of(log_format: LogFormat) -> logging.Formatter:
    """What writes entries: lines for people (``console``), or JSON for programs."""
    return EntryFormatter() if log_format == "json" else LineFormatter()


def log_to_stderr(log_format: LogFormat, level: str) -> None:
    """Set up the log of a process that serves: all entries, and what would else be printed as it is."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter_of(log_format))
    logging.basicConfig(level=level, handlers=[handler])
    logging.captureWarnings(True)
    sys.excepthook = _log_end
    threading.excepthook = _log_end_of_thread


def format_handlers(handlers: Iterable[logging.Handler], log_format: LogFormat) -> None:
    """Let handlers that others have set up write entries: as JSON, or as lines in a format of their own."""
    for handler in handlers:
        known = handler.formatter
        if log_format == "json":
            handler.setFormatter(EntryFormatter())
        elif known is None:
            handler.setFormatter(LineFormatter("%(message)s"))
        elif not isinstance(known, LineFormatter):
            handler.setFormatter(LineFormatter(known._fmt or "%(message)s", known.datefmt))


def format_last_resort(log_format: LogFormat) -> None:
    """The same for warnings of a process that has set up no logging, such as a command."""
    if logging.lastResort is not None:
        format_handlers([logging.lastResort], log_format)


def log_failure(
    kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None
) -> None:
    """Log an exception that nobody has caught."""
    _log.critical("not caught: %s", kind.__name__, exc_info=(kind, error or kind(), traceback))


def _log_end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
    else:
        log_failure(kind, error, traceback)


def _log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    log_failure(ended.exc_type, ended.exc_value, ended.exc_traceback)
