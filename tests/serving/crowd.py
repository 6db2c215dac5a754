"""Clients that are slow or send nothing, all from loopback, and a probe of what others wait."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from threading import Event, Thread
from typing import Final, Protocol

STRANGER: Final = "127.0.0.2"
"""Their address; the probe has 127.0.0.1."""

QUESTION: Final = json.dumps({"transfer_id": "ab" * 32})
_MORE_FILES: Final = 500


class Listener(Protocol):
    """A server that listens."""

    @property
    def host(self) -> str:
        """Its address."""

    @property
    def port(self) -> int:
        """Its port."""


def connect(server: Listener, source: str = STRANGER) -> socket.socket:
    """A connection from another address of this machine."""
    return socket.create_connection((server.host, server.port), timeout=20, source_address=(source, 0))


@contextmanager
def slow_clients(
    server: Listener, *, silent: int, dripping: int, pause: float = 0.1
) -> Iterator[list[socket.socket]]:
    """So many connections that send nothing, and so many that send a byte of a request now and then.

    :param pause: seconds between two bytes.
    """
    sockets = [connect(server) for _ in range(silent + dripping)]
    ended = Event()

    def drip() -> None:
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 1000
        for number in range(len(request)):
            for wire in sockets[silent:]:
                with suppress(OSError):  # it was cut off, as it should be
                    wire.send(request[number : number + 1])
            if ended.wait(pause):
                return

    thread = Thread(target=drip)
    thread.start()
    try:
        yield sockets
    finally:
        ended.set()
        thread.join()
        for wire in sockets:
            wire.close()


def slowest_answer(server: Listener, seconds: float) -> float:
    """How long the slowest of many probes took, each on a connection of its own: health and a status."""
    slowest, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        for method, path, body in (("GET", "/healthz", None), ("POST", "/v2/getTransferStatus", QUESTION)):
            began = time.monotonic()
            connection = HTTPConnection(server.host, server.port, timeout=20)
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            assert connection.getresponse().status == 200
            connection.close()
            slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    return slowest


@contextmanager
def idle_clients(server: Listener, count: int) -> Iterator[None]:
    """So many connections that had one answer and stay open, from fifty addresses.

    :raises SystemExit: this process may not have so many.
    """
    needed = count + _MORE_FILES
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        raise SystemExit(f"{count} connections need `ulimit -n {needed}` or more")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, needed), most))
    sockets: list[socket.socket] = []
    try:
        for number in range(count):
            wire = connect(server, f"127.0.0.{2 + number % 50}")
            sockets.append(wire)
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = wire.recv(65536)
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise SystemExit(f"connection {number + 1} was answered {answer[:100]!r}")
        yield
    finally:
        for wire in sockets:
            wire.close()
