"""The keys that seal the audit log, and the places for its heads: outside of the database.

No writer of the database can change heads there. A head covers every record before it, so the next head makes
up for a lost one (docs/audit.md#anchors).
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from logging.handlers import SysLogHandler
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Lock, Thread
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from app.audit.rules.records import key_id
from app.cooperation import in_native_thread
from app.values.times import rfc3339

RETRY_SECONDS: Final = 30.0
"""How long after a failure the newest head is tried again, where no newer one comes."""

TIMEOUT_SECONDS: Final = 3.0
"""How long connecting to a syslog and sending it a head may each take. One that hangs is not tried for
``RETRY_SECONDS``, as other places wait meanwhile."""

LEAVE_SECONDS: Final = 5.0
"""How long a process that ends waits for heads that are not noted yet."""

_MOST: Final = 1000
"""Heads that wait to be noted. There are only more while a place hangs."""

_TAG: Final = "transfer-gateway"

_NOTED: Final = re.compile(
    rf"(?:[0-9T:.-]+Z|.*\b{_TAG}\[\d+\]:) audit head (?P<head>[0-9]{{1,18}}:[0-9a-f]{{64}})", re.ASCII
)

_log = logging.getLogger(__name__)


class Place(Protocol):
    """Where heads are noted."""

    name: str
    """Its name in messages."""

    def note(self, head: str, at: datetime) -> None:
        """Note a head. May take its time.

        :raises OSError: it was not noted.
        """


class AnchorFile:
    """A file that only grows, one head a line."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def note(self, head: str, at: datetime) -> None:
        # A disk may be slow, and blocks greenlets.
        in_native_thread(self._append, f"{rfc3339(at, 'microseconds')} audit head {head}\n".encode())

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError("the disk is full")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class AnchorSyslog:
    """A syslog, which collects the logs of several machines."""

    def __init__(self, name: str, address: str | tuple[str, int], kind: socket.SocketKind | None) -> None:
        self.name = name
        self._address = address
        self._kind = kind
        self._open: _Syslog | None = None

    def note(self, head: str, at: datetime) -> None:
        if self._open is None:
            self._open = _Syslog(self._address, SysLogHandler.LOG_AUTHPRIV, self._kind)
            self._open.ident = f"{_TAG}[{os.getpid()}]: "
            if self._kind is socket.SOCK_STREAM:
                # A stream needs something between two messages, which is a line feed (RFC 6587).
                self._open.append_nul = False
                self._open.terminator = "\n"
        try:
            self._open.emit(logging.makeLogRecord({"msg": f"audit head {head}", "levelname": "INFO"}))
        except OSError:
            self._open.close()
            self._open = None
            raise


class _Syslog(SysLogHandler):
    """The standard library's handler. It raises failures instead of printing them, and waits at most
    ``TIMEOUT_SECONDS``.
    """

    terminator = ""

    def createSocket(self) -> None:  # noqa: N802
        if self.socktype is socket.SOCK_STREAM and isinstance(self.address, tuple):
            self.unixsocket = False
            self.socket = socket.create_connection(self.address, TIMEOUT_SECONDS)
        else:
            super().createSocket()

    def _connect_unixsocket(self, address: str) -> None:
        super()._connect_unixsocket(address)  # type: ignore[misc]  # the stubs do not have it
        self.socket.settimeout(TIMEOUT_SECONDS)

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record) + self.terminator

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        raise  # noqa: PLE0704  called where the failure is handled


def place_of(url: str) -> Place:
    """The place that a part of ``AUDIT_ANCHORS`` names, which ``config.py`` has checked."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return AnchorFile(Path(unquote(parts.path)))
    if parts.scheme == "unix":
        return AnchorSyslog(url, unquote(parts.path), None)
    kind = socket.SOCK_DGRAM if parts.scheme == "udp" else socket.SOCK_STREAM
    return AnchorSyslog(url, (parts.hostname or "", parts.port or 0), kind)


class Anchors:
    """Notes heads in every place, in its own thread: no change waits for it or fails with it."""

    def __init__(self, places: Sequence[Place] = (), retry_seconds: float = RETRY_SECONDS) -> None:
        self._places = places
        self._retry_seconds = retry_seconds
        self._heads: Queue[tuple[str, datetime]] = Queue(_MOST)
        self._missed: dict[str, tuple[str, datetime]] = {}
        self._failures: dict[str, str] = {}
        self._hung_until: dict[str, float] = {}
        self._thread: Thread | None = None
        self._lock = Lock()

    def note(self, head: str, at: datetime) -> None:
        """Note the head of a committed record soon.

        :param at: when the record was made.
        """
        if not self._places:
            return
        with self._lock:
            if self._thread is None:
                # Started here, not before: processes are forked before they serve, and threads do not survive
                # that.
                self._thread = Thread(target=self._run, name="audit-anchors", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
        while True:
            try:
                self._heads.put_nowait((head, at))
            except Full:
                self._failed("all places", OSError("they hang"))
                with suppress(Empty):  # the newest head covers the oldest
                    self._heads.get_nowait()
                    self._heads.task_done()
            else:
                return

    def flush(self, seconds: float = LEAVE_SECONDS) -> None:
        """Wait until all earlier heads have been tried."""
        with self._heads.all_tasks_done:
            self._heads.all_tasks_done.wait_for(lambda: not self._heads.unfinished_tasks, seconds)

    @property
    def all_noted(self) -> bool | None:
        """Whether every place has all heads of this process; None where there is no place."""
        return not self._failures if self._places else None

    def complaint(self) -> str | None:
        """Where this process could not note its last head, for operators; None where there is no fault."""
        failing = sorted(self._failures.items())
        return "; ".join(f"{name}: {why}" for name, why in failing) or None

    def _run(self) -> None:
        while True:
            with suppress(Empty):
                head, at = self._heads.get(timeout=self._retry_seconds if self._missed else None)
                for place in self._places:
                    self._try(place, head, at)
                self._heads.task_done()
                continue
            for place in self._places:
                if place.name in self._missed:
                    self._try(place, *self._missed[place.name])

    def _try(self, place: Place, head: str, at: datetime) -> None:
        if time.monotonic() < self._hung_until.get(place.name, 0.0):
            self._missed[place.name] = head, at
            return
        try:
            place.note(head, at)
        except Exception as error:  # any fault: without this thread nothing is noted any more
            self._missed[place.name] = head, at
            if isinstance(error, TimeoutError):
                self._hung_until[place.name] = time.monotonic() + self._retry_seconds
            self._failed(place.name, error)
        else:
            self._missed.pop(place.name, None)
            if self._failures.pop(place.name, None):
                _log.warning("audit heads are noted again in %s", place.name)
            self._failures.pop("all places", None)

    def _failed(self, name: str, error: Exception) -> None:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if self._failures.get(name) != why:
            _log.error("audit heads cannot be noted in %s: %s; they are tried again", name, why)
        self._failures[name] = why


def anchored_heads(lines: Iterable[str]) -> Iterator[str]:
    """The heads ``ID:MAC`` in a file of ``AUDIT_ANCHORS``, of a syslog or of bodies of webhooks, one a line.

    Other lines are skipped, also one that was cut off.
    """
    for line in lines:
        text = line.strip()
        if match := _NOTED.fullmatch(text):
            yield match["head"]
        elif text.startswith("{"):
            with suppress(ValueError, TypeError, KeyError):
                event = json.loads(text)
                if event["type"] == "alert.audit_head":
                    yield str(event["data"]["detail"])


KEY_BYTES = 32


class KeyFileUnusable(Exception):
    """The file cannot be read, written, or holds no key; the message says which, after its name."""


def stored_key(file: Path) -> str:
    """The key stored in the file, made at the first call; only its owner may read it.

    Processes that make it at the same time all get the same key: the file appears whole or not at all.

    :returns: 64 hexadecimal digits where it was made here.
    :raises KeyFileUnusable: where the file cannot be read or written, or is empty.
    """
    try:
        try:
            key = file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            _make(file)
            key = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise KeyFileUnusable(f"{file} cannot be used: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KeyFileUnusable(f"{file} does not contain a key") from None
    if not key:
        raise KeyFileUnusable(f"{file} is empty: delete it and start again")
    return key


def _make(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as output:
            output.write(secrets.token_hex(KEY_BYTES) + "\n")
            output.flush()
            os.fsync(output.fileno())
        with suppress(FileExistsError):  # another process has made one: its key is used
            os.link(draft, file)
    finally:
        draft.unlink()


class AuditKeyUnusable(Exception):
    """There is no key to seal with, so nothing that must be recorded can be done."""


class AuditKeys:
    """The present key and its predecessors. One per application; read at first need, then cached.

    ``anchors`` is where the heads of sealed records are noted.
    """

    def __init__(
        self, present: str, old: tuple[str, ...], file: Path, anchors: Anchors | None = None
    ) -> None:
        """Take the keys of the settings.

        :param present: empty where none is set; then the one stored in ``file`` is used.
        :param old: keys of earlier records, the oldest first.
        :param anchors: no places by default.
        """
        self.anchors = anchors or Anchors()
        self._present = present
        self._old = old
        self._file = file

    @cached_property
    def present(self) -> bytes:
        """The key that seals new records.

        :raises AuditKeyUnusable: none is set, and none can be stored.
        """
        if self._present:
            return self._present.encode()
        try:
            return stored_key(self._file).encode()
        except KeyFileUnusable as unusable:
            raise AuditKeyUnusable(f"AUDIT_KEY is not set, and {unusable}") from None

    @cached_property
    def by_id(self) -> Mapping[str, bytes]:
        """Every key by its public name, from the oldest to the present one."""
        return {key_id(key): key for key in (*(old.encode() for old in self._old), self.present)}
