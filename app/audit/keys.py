"""The keys that seal the audit log, and the places outside of the database where its heads are noted.

A head covers every record before it, so the next one makes up for one that was lost
(docs/decisions/0071-what-the-audit-log-protects-from.md).
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Timer
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from app.audit.rules.records import key_id
from app.cooperation import in_native_thread
from app.values.times import rfc3339

RETRY_SECONDS: Final = 30.0
"""How long after a failure the newest head is tried again. The place gets no other meanwhile."""

TIMEOUT_SECONDS: Final = 3.0
"""How long connecting to a syslog and sending it a head may each take."""

_log = logging.getLogger(__name__)


class Anchors:
    """The places of ``AUDIT_ANCHORS``. No change fails with one."""

    def __init__(self, urls: Iterable[str] = ()) -> None:
        self._places = [urlsplit(url) for url in urls]
        self._missed: dict[SplitResult, tuple[str, datetime]] = {}
        self._failures: dict[SplitResult, str] = {}
        if syslogs := [place.geturl() for place in self._places if place.scheme != "file"]:
            _log.warning(
                "AUDIT_ANCHORS: %s: syslogs are deprecated and end with 2.0.0 (docs/audit.md#anchors)",
                ", ".join(syslogs),
            )

    def note(self, head: str, at: datetime) -> None:
        """Note the head of a committed record.

        :param at: when the record was made.
        """
        for place in self._places:
            if place in self._missed:
                self._missed[place] = head, at
            else:
                self._try(place, head, at)

    @property
    def all_noted(self) -> bool | None:
        """Whether every place has all heads of this process; None where there is no place."""
        return not self._failures if self._places else None

    def complaint(self) -> str | None:
        """Where this process could not note its last head, for operators; None where there is no fault."""
        return "; ".join(f"{_name(place)}: {why}" for place, why in self._failures.items()) or None

    def _try(self, place: SplitResult, head: str, at: datetime) -> None:
        try:
            if place.scheme == "file":
                in_native_thread(_append, place, head, at)
            else:
                _send(place, head)
        except Exception as error:  # any fault: the change was committed
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if self._failures.get(place) != why:
                _log.error("audit heads cannot be noted in %s: %s; they are tried again", _name(place), why)
            self._failures[place] = why
            self._missed[place] = head, at
            timer = Timer(RETRY_SECONDS, self._retry, (place,))
            timer.daemon = True
            timer.start()
        else:
            if self._failures.pop(place, None):
                _log.warning("audit heads are noted again in %s", _name(place))

    def _retry(self, place: SplitResult) -> None:
        if newest := self._missed.pop(place, None):
            self._try(place, *newest)


def _name(place: SplitResult) -> str:
    return unquote(place.path) if place.scheme == "file" else place.geturl()


def _append(place: SplitResult, head: str, at: datetime) -> None:
    line = f"{rfc3339(at, 'microseconds')} audit head {head}\n".encode()
    descriptor = os.open(unquote(place.path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        if os.write(descriptor, line) != len(line):
            raise OSError("the disk is full")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _send(place: SplitResult, head: str) -> None:
    """Send a head to a syslog as facility authpriv and severity info (RFC 3164)."""
    if place.scheme == "unix":
        kinds = (socket.SOCK_DGRAM, socket.SOCK_STREAM)
        found: list[tuple[int, int, Any]] = [(socket.AF_UNIX, kind, unquote(place.path)) for kind in kinds]
    else:
        only = socket.SOCK_DGRAM if place.scheme == "udp" else socket.SOCK_STREAM
        names = socket.getaddrinfo(place.hostname, place.port, type=only)
        found = [(family, only, address) for family, _, _, _, address in names]
    failure: OSError | None = None
    for family, kind, address in found:
        # A stream needs something between two messages, which is a line feed (RFC 6587).
        end = "\n" if kind == socket.SOCK_STREAM else ""
        try:
            with socket.socket(family, kind) as connection:
                connection.settimeout(TIMEOUT_SECONDS)
                connection.connect(address)
                connection.sendall(f"<86>transfer-gateway[{os.getpid()}]: audit head {head}{end}".encode())
                return
        except OSError as error:
            failure = failure or error
    if failure is not None:
        raise failure


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
    """The present key and its predecessors, read at first need.

    :param present: empty where none is set; then the one stored in ``file`` is used.
    :param old: keys of earlier records, the oldest first.
    :param anchors: where the heads of sealed records are noted; None: nowhere.
    """

    def __init__(
        self, present: str, old: tuple[str, ...], file: Path, anchors: Anchors | None = None
    ) -> None:
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
