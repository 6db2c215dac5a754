"""Entries of the log: their request and its id, their form, and how they are written (docs/logs.md)."""

from __future__ import annotations

import io
import logging
import os
import re
import secrets
import stat
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import count
from types import MappingProxyType, TracebackType
from typing import Any, Final, Literal, TextIO

import orjson

from app.observability.outages import Seldom
from app.observability.private import PRIVATE
from app.values.wire_values import printable

LogFormat = Literal["console", "json"]

LINE: Final = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
TIME: Final = "%Y-%m-%dT%H:%M:%S%z"

LONGEST: Final = 4096
"""Bytes of a line with its end. So many of one write stay together in a pipe with several writers."""

OPERATION: Final = "gateway.operation"
"""The key of an operation's name in a request's environment, where the endpoint is too general."""

UNKNOWN: Final = "unknown"
"""The operation of a request to a path that does not exist."""

_TRACE: Final = "  | "
"""The beginning of each line of a traceback. No message begins so."""

_CUT: Final = "…"
_FORGOTTEN: Final[Mapping[str, Any]] = MappingProxyType({})

_log = logging.getLogger("app")


class Served:
    """One request, from its first moment in the application until its answer is passed to the server."""

    __slots__ = ("_environ", "_operation", "began", "id", "public_id", "trace_id")

    def __init__(self, request_id: str, environ: dict[str, Any], public_id: str | None = None) -> None:
        """
        :param public_id: the id in the answer, where the log must not have it.
        """
        self.id = request_id
        """In the log."""
        self.public_id = public_id or request_id
        """In the answer."""
        self.began = time.perf_counter()
        """By ``time.perf_counter``, in seconds."""
        self.trace_id: str | None = None
        """In hexadecimal digits, where the request is traced."""
        self._environ: Mapping[str, Any] = environ
        self._operation: str | None = None

    @property
    def operation(self) -> str:
        """The name of the view, of a closed set: no path, which callers choose."""
        if self._operation is not None:
            return self._operation
        named: str | None = self._environ.get(OPERATION)
        if named is None:
            named = getattr(self._environ.get("werkzeug.request"), "endpoint", None)
        return named or UNKNOWN

    def settle(self) -> None:
        """Store the operation and release the request's environment: thousands may wait."""
        self._operation = self.operation
        self._environ = _FORGOTTEN

    def fields(self) -> dict[str, object]:
        traced = {"trace_id": self.trace_id} if self.trace_id else {}
        return {"request_id": self.id, "operation": self.operation, **traced}


SERVED: Final[ContextVar[Served | None]] = ContextVar("served", default=None)
"""The request of this thread or greenlet; None where there is none."""

_GIVEN: Final = "HTTP_X_REQUEST_ID"
_HARMLESS: Final = re.compile(r"[A-Za-z0-9_-]{8,64}", re.ASCII)
"""Such an id ends no header, changes no terminal, and contains no address."""

_PREFIX_BYTES: Final = 6


class _Made:
    """Ids that no other process makes: a random prefix for each process, then a number."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Choose another prefix, as a forked process has to."""
        self._prefix = f"{secrets.token_hex(_PREFIX_BYTES)}-"
        self._numbers = count(1)

    def next(self) -> str:
        return f"{self._prefix}{next(self._numbers):x}"


_MADE: Final = _Made()
os.register_at_fork(after_in_child=_MADE.renew)


def request_of(environ: dict[str, Any]) -> Served:
    """The request with its id, from its WSGI environment."""
    given = environ.get(_GIVEN)
    if given is None or not _HARMLESS.fullmatch(given) or PRIVATE.looks_secret(given):
        return Served(_MADE.next(), environ)
    if PRIVATE.is_free(given):
        return Served(given, environ)
    # A secret of ours. The log gets another id, and the answer returns the given one: otherwise a caller
    # could find out by it whether a guessed password is right.
    return Served(_MADE.next(), environ, public_id=given)


@contextmanager
def answering_unread() -> Iterator[None]:
    """For the refusal of an unreadable request: its log entry and its answer have the same id."""
    token = SERVED.set(Served(_MADE.next(), {}))
    try:
        yield
    finally:
        SERVED.reset(token)


def failed_request(status: int) -> str | None:
    """The id that an error page shows, where the log has details."""
    served = SERVED.get()
    return served.public_id if served and status >= 500 else None


def id_of_unread() -> str:
    """The id of the request that is being refused."""
    served = SERVED.get()
    return served.public_id if served else _MADE.next()


class EntryFormatter(logging.Formatter):
    """Formats a record as one line of JSON, or for people as a line and marked lines of its traceback.

    It hides private values, and everything that ends a line or changes a terminal, so that callers cannot
    forge a line. No line is longer than ``LONGEST``. ``fields`` of a record are those of its entry.
    """

    def __init__(self, log_format: LogFormat, lines: logging.Formatter | None = None) -> None:
        """
        :param lines: has the format of lines for people; that of this gateway where it is None.
        """
        super().__init__()
        self._json = log_format == "json"
        self._lines = lines or logging.Formatter(LINE, TIME)

    def format(self, record: logging.LogRecord) -> str:
        """The record as text. Its cached traceback is not used: other formatters do not mark it."""
        hidden = PRIVATE.without([record.getMessage(), *self._traced(record)])
        message, *trace = map(printable, hidden)
        served = SERVED.get()
        fields = getattr(record, "fields", None) or (served.fields() if served else {})
        if self._json:
            return _entry(record, message, fields, "\n".join(trace))
        end = f" (request {fields['request_id']})" if "request_id" in fields else ""

        def line(text: str) -> str:
            record.message = f"{text}{end}"
            return printable(self._lines.formatMessage(record))

        if self._lines.usesTime():
            record.asctime = self._lines.formatTime(record, self._lines.datefmt)
        marked = [_fitted(f"{_TRACE}{text}", str) for text in trace]
        return "\n".join([line(_fitted(message, line)), *marked])

    def _traced(self, record: logging.LogRecord) -> Iterator[str]:
        if record.exc_info:
            yield from self.formatException(record.exc_info).split("\n")
        if record.stack_info:
            yield from self.formatStack(record.stack_info).split("\n")


def _entry(record: logging.LogRecord, message: str, fields: Mapping[str, object], trace: str) -> str:
    entry = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")[:-6] + "Z",
        "level": record.levelname,
        "logger": record.name,
        "pid": record.process,
        "message": message,
        **fields,
    }
    whole = _json(entry | {"exception": trace} if trace else entry)
    if len(whole.encode()) < LONGEST:
        return whole
    most = LONGEST // 2 if trace else LONGEST
    entry["message"] = _fitted(message, lambda text: _json(entry | {"message": text}), most)
    if trace:  # its end has the cause
        entry["exception"] = _fitted(trace[::-1], lambda text: _json(entry | {"exception": text}))[::-1]
    return _json(entry)


def _json(entry: Mapping[str, object]) -> str:
    return orjson.dumps(entry, default=str).decode()


def _fitted(text: str, written: Callable[[str], str], most: int = LONGEST) -> str:
    """The text, shortened where its formatted line would be too long."""

    def size(length: int) -> int:
        return len(written(f"{text[:length]}{_CUT}").encode()) + 1

    if len(written(text).encode()) < most:
        return text
    return f"{text[: max(0, bisect_right(range(most), most, key=size) - 1)]}{_CUT}"


class DroppingStream:
    """Writes lines to the file, pipe or socket of a stream. While a pipe or socket is full, they are dropped.

    Otherwise a reader that stops would stop every request. When there is room again, the next entry is the
    number of dropped ones.
    """

    def __init__(self, stream: TextIO) -> None:
        self._descriptor = stream.fileno()
        self._place: tuple[int, int] | None = None
        self._writable = self._descriptor
        self._lost = 0

    def write(self, text: str) -> None:
        """Write an entry, whole lines at a time, or drop what has no room."""
        self._find()
        try:
            for piece in _pieces(text):
                os.write(self._writable, piece)
        except BlockingIOError:
            self._lost += 1
            return
        if self._lost:
            lost, self._lost = self._lost, 0
            _log.warning("%d log entries were dropped: their reader was too slow", lost)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def _find(self) -> None:
        """Open the file, at first and when its descriptor means another one."""
        found = os.fstat(self._descriptor)
        place = found.st_dev, found.st_ino
        if place == self._place:
            return
        if self._writable != self._descriptor:
            os.close(self._writable)
        self._place, self._writable = place, self._descriptor
        if stat.S_ISFIFO(found.st_mode):
            # Opened once more, as others who share the descriptor may need to wait.
            with suppress(OSError):
                self._writable = os.open(f"/proc/self/fd/{self._descriptor}", os.O_WRONLY | os.O_NONBLOCK)
                return
        if stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode):
            os.set_blocking(self._descriptor, False)


def _pieces(text: str) -> Iterator[bytes]:
    """Whole lines, as many as stay together in a pipe."""
    piece = b""
    for line in text.encode().splitlines(keepends=True):
        if piece and len(piece) + len(line) > LONGEST:
            yield piece
            piece = b""
        piece += line
    yield piece


def log_to_stderr(log_format: LogFormat, level: str) -> None:
    """Set up the log of a serving process: all entries, and whatever would otherwise be printed directly."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(EntryFormatter(log_format))
    drop_when_full([handler])
    logging.basicConfig(level=level, handlers=[handler])
    logging.captureWarnings(True)
    sys.excepthook = _log_end
    threading.excepthook = _log_end_of_thread


def drop_when_full(handlers: Iterable[logging.Handler]) -> None:
    """Make handlers that write to a stream of this process drop what is not read."""
    for handler in handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            with suppress(io.UnsupportedOperation):  # a stream in memory
                handler.setStream(DroppingStream(handler.stream))


def format_handlers(handlers: Iterable[logging.Handler], log_format: LogFormat) -> None:
    """Make handlers that were set up elsewhere write entries: as JSON, or as lines in their own format."""
    for handler in handlers:
        known = handler.formatter or logging.Formatter("%(message)s")
        if log_format == "json" or not isinstance(known, EntryFormatter):
            handler.setFormatter(EntryFormatter(log_format, known))


def format_last_resort(log_format: LogFormat) -> None:
    """Write the warnings of a process that has set up no logging, such as a command, in the same format."""
    if logging.lastResort is not None:
        format_handlers([logging.lastResort], log_format)


def log_failure(
    kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None
) -> None:
    """Log an exception that was not caught."""
    _log.critical("not caught: %s", kind.__name__, exc_info=(kind, error or kind(), traceback))


_END: Final = sys.excepthook
_END_OF_THREAD: Final = threading.excepthook
"""As the process set them before: how it ends when it is interrupted is no failure."""


def _log_end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        _END(kind, error, traceback)
    else:
        log_failure(kind, error, traceback)


def _log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    if issubclass(ended.exc_type, KeyboardInterrupt):
        _END_OF_THREAD(ended)
    else:
        log_failure(ended.exc_type, ended.exc_value, ended.exc_traceback)


_BEGINS: Final = "Invalid request from ip="
_LONGEST: Final = 300


class FewRefusals(logging.Filter):
    """Lets one such line a minute of each process through, shortened, with the number of dropped ones."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seldom = Seldom(monotonic)

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if not text.startswith(_BEGINS):
            return True
        more = self._seldom.more(_BEGINS)
        record.msg, record.args = f"{text[:_LONGEST]}{more}", ()
        return more is not None
