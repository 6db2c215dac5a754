"""A client's connection with a deadline for everything that the client can be slow at."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final

from gevent import get_hub
from gunicorn.http.errors import LimitRequestHeaders

from app.cooperation import TURN_SECONDS, give_way
from serving.pausing import wait_until

FIRST_BYTE_SECONDS: Final = 10.0
"""How long a new connection may say nothing. One that was used before may stay idle for ``keepalive``."""

HEAD_SECONDS: Final = 10.0
"""How long a request line and its headers may take from their first byte on."""

HEAD_BYTES: Final = 65_536
"""How large a request line and its headers may be together. Gunicorn bounds each of them alone, and looks at
all that has come whenever more comes."""

BODY_SECONDS: Final = 30.0
"""How long to wait for a body in all, besides the time that its bytes take at ``BODY_RATE``. Only waiting
counts, not what the application does between two reads."""

BODY_RATE: Final = 1024
"""Bytes a second of a body. Who is slower is cut off when ``BODY_SECONDS`` are used up."""

SEND_SECONDS: Final = 30.0
"""How long the client may take for a piece of an answer."""

SMALLEST_PIECE: Final = 512
LARGEST_PIECE: Final = 1 << 20
"""Bytes read at once, by how long they take to parse."""

PARKED: Final[list[bytes]] = []
"""What gunicorn is given in place of an answer that comes later. It is known by its identity."""

_READ: Final = 1
"""What gevent's loop calls a file descriptor that can be read."""


class TooSlow(TimeoutError):
    """The client took longer than it may; its connection is of no further use."""


class Connection:
    """What gunicorn reads requests from and writes answers to, in place of the socket.

    Reading has phases, and the worker says when one begins. What is not defined here is the socket's.
    """

    __slots__ = (
        "_deadline",
        "_head_left",
        "_held",
        "_in_body",
        "_patience",
        "_piece",
        "_read_at",
        "_readable",
        "_silence",
        "_sock",
        "_turn_began",
        "_used",
        "begun",
        "parked",
        "reserved",
        "waited",
    )

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._silence: float | None = None
        self._deadline = math.inf
        self._patience = 0.0
        self._head_left = HEAD_BYTES
        self._in_body = self._used = False
        self._piece = LARGEST_PIECE
        self._turn_began = self._read_at = monotonic()
        self._held: list[bytes] | None = None
        self._readable: Any = None
        self.begun = False
        """Whether anything of the request has come in."""
        self.waited = False
        """Whether others had their turn before the request came."""
        self.parked: Any = None
        """The answer to the request, where it comes later."""
        self.reserved: Any = None
        """The application of the address that it came to, where that is not for callers."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def await_request(self, seconds: float) -> None:
        """Wait for the next request for so long; once it begins, its head has ``HEAD_SECONDS``."""
        # What a new connection says is mostly there. While it waited, it would have to leave for others.
        self._used = self.begun
        self.begun = self._in_body = self.waited = False
        self._silence = None
        self._head_left = HEAD_BYTES
        self._deadline = monotonic() + seconds

    def await_body(self) -> None:
        """The head is complete: what is read from now on is the body."""
        self._in_body = True
        self._patience = BODY_SECONDS

    def settimeout(self, seconds: float | None) -> None:
        """Bound each wait for a piece of a body, in place of the whole.

        A door does so for callers that it knows: a reporter may pause between two events.
        """
        self._silence = seconds

    def gettimeout(self) -> float | None:
        """The bound of each wait."""
        return self._silence

    def recv(self, size: int) -> bytes:
        """The next bytes; none at the end.

        :raises TooSlow: they did not come in time.
        :raises LimitRequestHeaders: there are more of them than the head of a request may have.
        """
        if not self._in_body:
            if not self._head_left:
                raise LimitRequestHeaders(
                    f"the request line and the headers have more than {HEAD_BYTES} bytes"
                )
            size = min(size, self._head_left)
            if not self.begun:
                self.await_bytes()
        size = self._give_way(size)
        began = monotonic()
        left = self._patience if self._in_body else self._deadline - began
        if self._silence is not None and self._in_body:
            left = self._silence
        if left <= 0:
            raise TooSlow
        try:
            self._sock.settimeout(left)
            data = self._sock.recv(size)
        except TimeoutError:
            raise TooSlow from None
        now = monotonic()
        if self._in_body:
            self._patience += len(data) / BODY_RATE - (now - began)
        else:
            self._head_left -= len(data)
            if not self.begun and data:
                self.begun = True
                self._deadline = now + HEAD_SECONDS
        self._read_at = now
        return data

    def park(self, later: Any) -> list[bytes]:
        """Keep an answer that comes later; returns what the application gives to gunicorn in its place."""
        self.parked = later
        return PARKED

    def recv_now(self) -> bytes:
        """A byte of what has come, which stays there to be read; none where the client is gone.

        :raises BlockingIOError: nothing has come.
        """
        self._sock.settimeout(0.0)
        return self._sock.recv(1, socket.MSG_PEEK)

    def await_bytes(self) -> None:
        """Let all others run until something of the next request has come, also where it has already.

        Reading finds nothing right after an answer, so it is not tried before. What a new connection says is
        mostly there, so its first request is not waited for. Nor is one for which it was waited already.

        :raises TooSlow: nothing came.
        """
        if self._used and not self.waited:
            self.waited = True
            wait_until(self.readable(), max(0.0, self._deadline - monotonic()), TooSlow)
            self._turn_began = self._read_at = monotonic()

    def readable(self) -> Any:
        """The watcher that notices when something has come. There is one, and one greenlet that uses it."""
        if self._readable is None:
            self._readable = get_hub().loop.io(self._sock.fileno(), _READ)
        return self._readable

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Forget the file descriptor, before the socket is closed, and an answer that nobody waits for."""
        if self.parked is not None:
            self.parked.close()
        if self._readable is not None:
            self._readable.close()

    def _give_way(self, size: int) -> int:
        """Let others have their turn. How much to read: less where what was read last took long to parse.

        Data that is there already makes nobody wait, and a body of tiny chunks takes longer to parse than to
        arrive.
        """
        now = monotonic()
        if now - self._read_at > TURN_SECONDS:
            self._piece = max(SMALLEST_PIECE, min(self._piece, size) // 2)
        else:
            self._piece = min(2 * self._piece, LARGEST_PIECE)
        if now - self._turn_began > TURN_SECONDS:
            give_way()
            self._turn_began = monotonic()
        return min(size, self._piece)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """For the time of one answer: its head, which gunicorn sends by itself, goes out with what follows.

        Gunicorn makes the head when it has a piece of the body, so nothing is kept waiting.
        """
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            if held:
                self.sendall(held[0])

    def sendall(self, data: bytes) -> None:
        """Send everything, but for the first piece of an answer, which is held back for the second.

        :raises TooSlow: the client does not take it.
        """
        if self._held is not None:
            if not self._held:
                self._held.append(data)
                return
            data, self._held = self._held[0] + data, None
        self._sock.settimeout(SEND_SECONDS)
        try:
            sent = self._sock.send(data)
            if sent < len(data):
                self._sock.sendall(memoryview(data)[sent:])
        except TimeoutError:
            raise TooSlow from None
