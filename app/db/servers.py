"""Which of several servers the connections of a process lead to, where its URL names more than one."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, Final, Protocol
from weakref import WeakSet

Address = tuple[str, str]
"""Host and port, as the URL has them."""

_ATTRIBUTES: Final = "target_session_attrs"

_log = logging.getLogger(__name__)


class _Open(Protocol):
    """What is needed of a connection of the driver."""

    @property
    def info(self) -> Any: ...

    def fileno(self) -> int: ...


class OneServer:
    """Leads the connections of some engines to one server at a time.

    The ``target_session_attrs`` of the URL says what that server must be: the primary, or a standby. Once a
    new connection has found it at another address, the connections to the former one are closed. Otherwise
    callers would wait until the timeout of a server that hangs, and one process would write to two servers,
    or compare the log of one replica with the answers of another
    (docs/decisions/0007-reads-from-a-replica.md). A URL without that attribute leads where the driver likes.
    """

    def __init__(self) -> None:
        self._address: Address | None = None
        self._left: Address | None = None
        self._connections: WeakSet[_Open] = WeakSet()
        self._lock = Lock()

    def preferred(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a new connection, with the present server first, and the one that was left last.

        So a server that does not answer costs its timeout once, and not for each connection.
        """
        ordered = dict(params)
        if _ATTRIBUTES in params:
            hosts, ports = (str(params.get(name, "")).split(",") for name in ("host", "port"))
            ports *= len(hosts) if len(ports) == 1 else 1
            pairs = sorted(
                zip(hosts, ports, strict=True), key=lambda pair: (pair != self._address, pair == self._left)
            )
            ordered["host"] = ",".join(host for host, _ in pairs)
            ordered["port"] = ",".join(port for _, port in pairs)
        return ordered

    def opened(self, connection: _Open, params: Mapping[str, Any]) -> None:
        """Note a new connection. Where it leads to another server, close those to the former one."""
        if _ATTRIBUTES not in params:
            return
        with self._lock:
            former, self._address = self._address, _address(connection)
            self._connections.add(connection)
        if former not in (None, self._address):
            _log.warning("the connections now lead to another server: %s port %s", *(self._address or ()))
            self._close_others()

    def leave(self) -> None:
        """Close the connections to the present server. New ones try the others first."""
        with self._lock:
            if self._address is None:
                return
            self._left, self._address = self._address, None
        self._close_others()

    def _close_others(self) -> None:
        with self._lock:
            others = [each for each in self._connections if _address(each) != self._address]
            self._connections.difference_update(others)
        for each in others:
            _hang_up(each)


def _address(connection: _Open) -> Address | None:
    """None of one that is closed."""
    with suppress(Exception):  # the driver has its own errors for a closed connection
        return connection.info.host, str(connection.info.port)
    return None


def _hang_up(connection: _Open) -> None:
    """End a connection which another thread may be waiting for: that one finds it closed by the server."""
    with suppress(Exception), socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as link:
        link.shutdown(socket.SHUT_RDWR)
