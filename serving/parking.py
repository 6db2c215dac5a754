"""Requests that are over before their answers are there: what is kept of each is its connection.

A view whose answer comes later hands it to its connection (``Connection.park``). Gunicorn's own handling of
the request ends, so its objects go; the connection's greenlet waits for the answer, sends it, and serves on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from gevent import get_hub, getcurrent
from gunicorn import util

from serving.connection import Connection


class Later(Protocol):
    """An answer to come, as the application hands it over."""

    @property
    def steps(self) -> Iterator[Any]:
        """What to do next: bytes to send, something with ``seconds`` to pause, and once, before any bytes,
        something with ``status``, ``headers`` and ``body``. Without a body bytes follow to the end.
        """

    def begun(self, status: str) -> None:
        """The answer begins, with this status."""

    def on_wake(self, wake: Callable[[], None]) -> None:
        """Have this called whenever a pause should end."""

    def stop(self) -> None:
        """Come to an end soon."""

    def close(self) -> None:
        """Nothing more is asked of it."""


class ClientGone(OSError):
    """Whoever waited has closed the connection."""


class Server(Protocol):
    """Who serves the connection."""

    @property
    def alive(self) -> bool:
        """Whether it goes on serving."""


def deliver(later: Later, connection: Connection, server: Server, *, is_last: bool) -> bool:
    """Wait for the answer and send it; whether the connection may be used again.

    :param server: one that does not go on when the answer is there closes the connection after it.
    :param is_last: whether the client wants it closed after the answer.
    :raises OSError: the client is gone, or does not take the answer in time.
    """
    bell, closing = _Bell(connection), True
    later.on_wake(bell.ring)
    try:
        for step in later.steps:
            if isinstance(step, bytes):
                connection.sendall(step)
            elif hasattr(step, "seconds"):
                bell.wait(step.seconds)
            else:
                later.begun(step.status)
                closing = step.body is None or is_last or not server.alive
                connection.sendall(_head(step, closing=closing) + (step.body or b""))
    finally:
        bell.close()
        later.close()
    return not closing


def _head(beginning: Any, *, closing: bool) -> bytes:
    headers = [
        ("Server", "gunicorn"),
        ("Date", util.http_date()),
        ("Connection", "close" if closing else "keep-alive"),
        *beginning.headers,
    ]
    lines = (f"HTTP/1.1 {beginning.status}", *(f"{name}: {value}" for name, value in headers), "", "")
    return "\r\n".join(lines).encode("latin-1")


class _Bell:
    """Ends a pause: somebody rings, or the client closes the connection.

    It switches greenlets itself, for the reason that ``serving/pausing.py`` names.
    """

    __slots__ = ("_connection", "_has_come", "_readable", "_rung", "_sleeper")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rung = False
        self._sleeper: Any = None
        self._readable = connection.readable()
        self._has_come = False
        self._readable.start(self._come)

    def _come(self) -> None:
        # What has come stays there until the pause: the loop would tell of it in each of its turns.
        self._readable.stop()
        self._has_come = True
        self.ring()

    def ring(self) -> None:
        """End the pause, or the next one."""
        self._rung = True
        sleeper, self._sleeper = self._sleeper, None
        if sleeper is not None:
            get_hub().loop.run_callback(sleeper.switch)

    def wait(self, seconds: float | None) -> None:
        """Let others run until somebody rings or the time is over.

        :raises ClientGone: the client closed the connection.
        """
        if not self._rung:
            self._sleep(seconds)
        self._rung = False
        if self._has_come:
            self._has_come = False
            self._look()

    def _sleep(self, seconds: float | None) -> None:
        hub = get_hub()
        timer = None if seconds is None else hub.loop.timer(seconds)
        self._sleeper = getcurrent()
        try:
            if timer is not None:
                timer.start(self.ring)
            hub.switch()
        finally:
            self._sleeper = None
            if timer is not None:
                timer.close()

    def _look(self) -> None:
        try:
            there = self._connection.recv_now()
        except BlockingIOError:
            self._readable.start(self._come)
            return
        if not there:
            raise ClientGone
        # The next request came in advance: it has to wait.

    def close(self) -> None:
        """Look at the connection no more."""
        self._readable.stop()
