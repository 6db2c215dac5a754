"""Connections to a Redis, each for one question at a time, kept for the next.

The library's own pool looks, before each question, whether somebody has sent something, and counts for its
metrics: that takes three times as long as asking (docs/decisions/0055-limits.md#costs).
"""

from __future__ import annotations

import os
from threading import Semaphore
from typing import Any, Final

from redis import BlockingConnectionPool, Connection
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NotConnected
from redis.retry import Retry

PATIENCE_SECONDS: Final = 0.5
"""For a connection, for the answer, and for a connection to be free: at worst the last two after each other.
An answer takes a millisecond."""

MOST_CONNECTIONS: Final = 32
"""Of one process. Each is in use for one question, so these do for thousands of requests a second."""


class Connections:
    """Opened where they are needed, by each process for itself, also after a fork. Thread-safe."""

    def __init__(self, url: str) -> None:
        """
        :param url: ``redis://``, ``rediss://`` or ``unix://``; options in its query outrank those of here.
        """
        # Only reads the URL, and knows the kind of connection that it asks for.
        self._named = BlockingConnectionPool.from_url(
            url,
            max_connections=MOST_CONNECTIONS,
            timeout=PATIENCE_SECONDS,
            socket_timeout=PATIENCE_SECONDS,
            socket_connect_timeout=PATIENCE_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            driver_info=None,
        )
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._idle: list[Connection] = []
        self._free = Semaphore(self._named.max_connections)
        self._pid = os.getpid()

    @property
    def options(self) -> dict[str, Any]:
        """What connections are opened with, the password among it."""
        return self._named.connection_kwargs

    def ask(self, *words: str | int) -> object:
        """The answer to a command.

        It is asked a second time only on a connection that was kept and turns out to be closed.

        :raises redis.RedisError: there is none, or it is an error. A connection without an answer is closed.
        """
        if os.getpid() != self._pid:
            self._begin_anew()
        if not self._free.acquire(timeout=self._named.timeout):
            raise NotConnected("no connection was free in time")
        try:
            connection = self._last_used()
            try:
                if connection.is_connected:
                    try:
                        return _answer(connection, words)
                    except NotConnected:
                        connection.disconnect()
                return _answer(connection, words)
            finally:
                self._idle.append(connection)
        finally:
            self._free.release()

    def _last_used(self) -> Connection:
        """So the others stay closed. A new one opens with its first question."""
        try:
            return self._idle.pop()
        except IndexError:
            made: Connection = self._named.connection_class(**self.options)
            return made

    def close(self) -> None:
        """Close those that are not in use."""
        for connection in self._idle:
            connection.disconnect()


def _answer(connection: Connection, words: tuple[str | int, ...]) -> object:
    # Whatever is raised in either, the library closes the connection: an answer that comes late is nobody's.
    connection.send_command(*words)
    return connection.read_response()
