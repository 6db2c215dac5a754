"""The places outside of the database where heads of the audit log are noted.

A head covers every record before it, so the next head makes up for a lost one (docs/audit.md#anchors).
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock, Timer
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from app.cooperation import in_native_thread
from app.values.times import rfc3339

RETRY_SECONDS: Final = 30.0
"""How long after a failure the newest head is tried again. The place gets no other meanwhile."""

TIMEOUT_SECONDS: Final = 3.0
"""How long connecting to a syslog and sending it a head may each take."""

_Missed = tuple[int, str, datetime]
"""A record's id, its head, and when it was made."""

_log = logging.getLogger(__name__)


class Anchors:
    """The places of ``AUDIT_ANCHORS``. A change succeeds even if a place fails."""

    def __init__(self, urls: Iterable[str] = ()) -> None:
        self._places = [urlsplit(url) for url in urls]
        self._lock = Lock()
        self._missed: dict[SplitResult, _Missed] = {}  # the newest of each place, for which a timer runs
        self._failures: dict[SplitResult, str] = {}
        if syslogs := [place.geturl() for place in self._places if place.scheme != "file"]:
            _log.warning(
                "AUDIT_ANCHORS: %s: syslogs are deprecated, and 2.0.0 removes them (docs/audit.md#anchors)",
                ", ".join(syslogs),
            )

    def note(self, head: str, at: datetime) -> None:
        """Note the head of a committed record.

        :param at: when the record was made.
        """
        new = int(head.partition(":")[0]), head, at
        for place in self._places:
            with self._lock:
                if is_waiting := place in self._missed:
                    self._miss(place, new)
            if not is_waiting:
                self._try(place, new)

    @property
    def all_noted(self) -> bool | None:
        """Whether no place failed last time; None where there is no place."""
        return not self._failures if self._places else None

    def complaint(self) -> str | None:
        """Where this process could not note its last head, for operators; None where there is no fault."""
        return "; ".join(f"{_name(place)}: {why}" for place, why in self._failures.copy().items()) or None

    def _miss(self, place: SplitResult, new: _Missed) -> None:
        """Record what is tried again. Records of one process may end in another order than they began."""
        self._missed[place] = max(self._missed.get(place, new), new)

    def _try(self, place: SplitResult, new: _Missed) -> None:
        _, head, at = new
        try:
            if place.scheme == "file":
                in_native_thread(_append, place, head, at)
            else:
                _send(place, head)
        except Exception as error:  # any fault: the change was committed
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            with self._lock:
                known, self._failures[place] = self._failures.get(place), why
                is_waiting = place in self._missed
                self._miss(place, new)
            if known != why:
                _log.error(
                    "the gateway cannot write audit heads to %s: %s; it tries again", _name(place), why
                )
            if not is_waiting:
                timer = Timer(RETRY_SECONDS, self._retry, (place,))
                timer.daemon = True
                timer.start()
        else:
            with self._lock:
                is_repaired = place not in self._missed and self._failures.pop(place, "")
            if is_repaired:
                _log.warning("the gateway writes audit heads to %s again", _name(place))

    def _retry(self, place: SplitResult) -> None:
        with self._lock:
            newest = self._missed.pop(place)
        self._try(place, newest)


def _name(place: SplitResult) -> str:
    return unquote(place.path) if place.scheme == "file" else place.geturl()


def _append(place: SplitResult, head: str, at: datetime) -> None:
    file = Path(unquote(place.path))
    line = f"{rfc3339(at, 'microseconds')} audit head {head}\n".encode()
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_size and not _ends_line(file):
            line = b"\n" + line
        if os.write(descriptor, line) != len(line):
            raise OSError("the disk is full")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ends_line(file: Path) -> bool:
    """Whether a file ends with a whole line: a full disk cuts one off. True where it cannot be read."""
    try:
        with file.open("rb") as lines:
            lines.seek(-1, os.SEEK_END)
            return lines.read(1) == b"\n"
    except OSError:
        return True


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
