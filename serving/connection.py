"""A client's connection with deadlines for everything in which the client can be slow."""

from __future__ import annotations

import socket
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from gevent.socket import wait_read
from gunicorn import util
from gunicorn.http.errors import LimitRequestHeaders, NoMoreData

from app.cooperation import TURN_SECONDS, give_way

FIRST_BYTE_SECONDS: Final = 10.0
"""How long a new connection may be silent. One that was used before may stay idle for ``keepalive``."""

HEAD_SECONDS: Final = 10.0
"""How long a request line and its headers may take from their first byte on."""

HEAD_BYTES: Final = 65_536
"""How large a request line and its headers may be together. Gunicorn limits only each of them, and reads
again all that has come whenever more comes."""

BODY_SECONDS: Final = 30.0
"""How long to wait for a body in all, in addition to the time that its bytes take at ``BODY_RATE``. Only
waiting counts, not what the application does between two reads."""

BODY_RATE: Final = 1024
"""Bytes a second of a body. Slower clients are cut off after ``BODY_SECONDS``."""

REST_SECONDS: Final = 2.0
REST_BYTES: Final = 65_536
"""How much is read of the rest of a body that was not needed, before the connection is closed instead."""

SEND_SECONDS: Final = 30.0
"""How long the client may take for a piece of an answer."""

LARGEST_PIECE: Final = 8192
"""Bytes read at once: in chunks of one byte they take some hundredths of a second to parse."""


class TooSlow(NoMoreData, TimeoutError):  # type: ignore[misc]  # gunicorn has no types
    """The client took longer than allowed: for gunicorn, the data end here."""


class Connection:
    """Used by gunicorn in place of the socket.

    Reading has phases, and the worker announces each. Everything not defined here is the socket's.
    """

    __slots__ = (
        "_deadline", "_head", "_head_left", "_in_body", "_is_head_next", "_silence", "_sock", "_time_left",
        "_turn_began", "application", "begun", "waited",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, application: Any = None) -> None:
        self._sock = sock
        self._turn_began = monotonic()
        self._head, self._is_head_next = b"", False
        self.application = application
        """The application of its address, where that is not for callers."""
        self.await_request(FIRST_BYTE_SECONDS)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def await_request(self, seconds: float) -> None:
        """Wait so long for the next request; after its first byte, its head has ``HEAD_SECONDS``."""
        self._deadline = monotonic() + seconds
        self._head_left = HEAD_BYTES
        self._silence: float | None = None
        self._in_body = False
        self.begun = False
        """Whether any byte of the request has come in."""
        self.waited = False
        """Whether others had their turn before the request came."""

    def await_body(self) -> None:
        """Begin the phase of the body: the head is complete."""
        self._in_body, self._time_left = True, BODY_SECONDS

    def pass_over(self, body: Any) -> None:
        """Read the rest of a body, as the next request begins after it.

        :raises StopIteration: its end stays unknown, which ends the connection.
        """
        until, left = monotonic() + REST_SECONDS, REST_BYTES
        while left > 0 and not body.failed:
            self.settimeout(until - monotonic())
            if not (data := body.read(1024)):
                return
            left -= len(data)
        raise StopIteration

    def settimeout(self, seconds: float | None) -> None:
        """Limit each wait for a piece of a body, instead of the whole.

        The event feed uses it for known callers: a reporter may pause between two events.
        """
        self._silence = seconds

    def gettimeout(self) -> float | None:
        return self._silence

    def recv(self, size: int) -> bytes:
        """The next bytes, none at the end; ``TooSlow`` where they do not come in time."""
        size = min(size, LARGEST_PIECE)
        if self._in_body:
            began = monotonic()
            data = self._received(size, self._time_left if self._silence is None else self._silence)
            self._time_left += len(data) / BODY_RATE - (monotonic() - began)
            return data
        if not self._head_left:
            raise LimitRequestHeaders(f"the request line and the headers have more than {HEAD_BYTES} bytes")
        if not self.begun:  # reading mostly finds no data yet, so it is not tried before
            self.waited = True
            wait_read(self._sock.fileno(), max(0.0, self._deadline - monotonic()), TooSlow)
        try:
            data = self._received(min(size, self._head_left), self._deadline - monotonic())
        except TooSlow:
            if self.begun:
                util.write_error(self, 408, "Request Timeout", "the request took too long to arrive")
            raise
        self._head_left -= len(data)
        if not self.begun and data:
            self.begun = True
            self._deadline = monotonic() + HEAD_SECONDS
        return data

    def _received(self, size: int, seconds: float) -> bytes:
        """What comes within so many seconds. Others have turns, even if there are data already."""
        if monotonic() - self._turn_began > TURN_SECONDS:
            give_way()
            self._turn_began = monotonic()
        if seconds <= 0:
            raise TooSlow
        try:
            self._sock.settimeout(seconds)
            return self._sock.recv(size)
        except TimeoutError:
            raise TooSlow from None

    def has_left(self) -> bool:
        """Whether the client has closed the connection, for work that waits for something else."""
        self._sock.settimeout(0.0)
        try:
            return not self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def begin_answer(self) -> None:
        """Begin the phase of the answer. Its head is sent together with what comes next: gunicorn sends it by
        itself, which is one call of the system more for each answer.
        """
        self._is_head_next = True

    def end_answer(self) -> None:
        """Send the head of an answer without a body."""
        self._is_head_next = False
        if self._head:
            self.sendall(b"")

    def sendall(self, data: bytes) -> None:
        """Send everything; ``TooSlow`` where the client does not read it."""
        if self._is_head_next:
            self._head, self._is_head_next = data, False
            return
        data, self._head = self._head + data, b""
        self._sock.settimeout(SEND_SECONDS)
        try:
            self._sock.sendall(data)
        except TimeoutError:
            raise TooSlow from None

    def end(self) -> None:
        """End the data for every reader of the connection."""
        with suppress(OSError):  # the client closed it before
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it so that the client can read the whole answer, even if it has sent more."""
        util.close_graceful(self._sock)
