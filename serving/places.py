"""Who may hold a connection to a worker, and who has to leave when there is no place."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final

from serving.connection import Connection

_SUBSCRIBER_BITS: Final = 64
"""Of IPv6: one subscriber can take any address of its /64."""


class NoPlace(Exception):
    """All places are taken by requests that are being answered."""


class Places:
    """The connections of one worker: in all, and those of each address.

    A connection that waits for a request, also for the rest of its head, has to leave when somebody needs its
    place: the one that waits longest first.
    """

    def __init__(self, count: int, of_one_address: int) -> None:
        """
        :param of_one_address: how many of them one address may have.
        """
        self._count = count
        self._of_one_address = of_one_address
        self._taken: Counter[str] = Counter()
        self._waiting: dict[Connection, str] = {}

    def __len__(self) -> int:
        return self._taken.total()

    def taken_by(self, address: Any) -> Place:
        """Take a place, which is free again when it is left.

        :param address: as ``accept`` returns it.
        :raises NoPlace: there is none, and nobody has to leave.
        """
        name = _counted(address)
        if name and self._taken[name] >= self._of_one_address:
            self._send_away(name)
        elif len(self) >= self._count:
            self._send_away(None)
        self._taken[name] += 1
        return Place(self._taken, name)

    def waiting(self, connection: Connection, name: str) -> _Wait:
        """For the time in which the connection waits for a request."""
        return _Wait(self._waiting, connection, name)

    def send_all_away(self) -> None:
        """End every connection that waits for a request."""
        for connection in list(self._waiting):
            self._end(connection)

    def _send_away(self, name: str | None) -> None:
        """End the connection that waits longest, of one address or of all."""
        for connection, holder in self._waiting.items():
            if name is None or holder == name:
                self._end(connection)
                return
        raise NoPlace

    def _end(self, connection: Connection) -> None:
        del self._waiting[connection]
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # whoever waits for its data is told that there is no more


class Place:
    """A place that is held. Each connection has one: a generator would take ten times the memory."""

    __slots__ = ("_taken", "name")

    def __init__(self, taken: Counter[str], name: str) -> None:
        self._taken = taken
        self.name = name
        """Under which it is counted."""

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Give it back, once."""
        self._taken[self.name] -= 1
        if not self._taken[self.name]:
            del self._taken[self.name]


class _Wait:
    """The time in which a connection waits for a request."""

    __slots__ = ("_connection", "_name", "_waiting")

    def __init__(self, waiting: dict[Connection, str], connection: Connection, name: str) -> None:
        self._waiting = waiting
        self._connection = connection
        self._name = name

    def __enter__(self) -> None:
        self._waiting[self._connection] = self._name

    def __exit__(self, *_: object) -> None:
        self._waiting.pop(self._connection, None)


def _counted(address: Any) -> str:
    """What an address is counted as; nothing for a socket in the file system."""
    if not isinstance(address, tuple):
        return ""
    host = ip_address(address[0].partition("%")[0])
    if isinstance(host, IPv6Address):
        if host.ipv4_mapped:
            return str(host.ipv4_mapped)
        return str(ip_network((host, _SUBSCRIBER_BITS), strict=False))
    return str(host)
