"""Clients that mean no good, all from loopback, and somebody who asks whether the gateway still answers."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from threading import Event, Thread

from tests.serving.server import Server

ATTACKER = "127.0.0.2"
"""Where they come from; whoever asks comes from 127.0.0.1."""

QUESTION = json.dumps({"transfer_id": "ab" * 32})


def connect(server: Server, source: str = ATTACKER) -> socket.socket:
    """A connection from another address of this machine."""
    return socket.create_connection((server.host, server.port), timeout=20, source_address=(source, 0))


@contextmanager
def slow_clients(server: Server, *, silent: int, dripping: int) -> Iterator[list[socket.socket]]:
    """So many connections that say nothing, and so many that send a byte of a request now and then."""
    sockets = [connect(server) for _ in range(silent + dripping)]
    ended = Event()

    def drip() -> None:
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 1000
        for number in range(len(request)):
            for wire in sockets[silent:]:
                with suppress(OSError):  # it was cut off, as it should be
                    wire.send(request[number : number + 1])
            if ended.wait(0.1):
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


def slowest_answer(server: Server, seconds: float) -> float:
    """How long the slowest of many probes took, each on a connection of its own: health and a status."""
    slowest, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        for method, path, body in (
            ("GET", "/healthz", None),
            ("POST", "/v2/getTransferStatus", QUESTION),
        ):
            began = time.monotonic()
            connection = HTTPConnection(server.host, server.port, timeout=20)
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            assert connection.getresponse().status == 200
            connection.close()
            slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    return slowest


def exchange(server: Server, *pieces: bytes, source: str = ATTACKER) -> bytes:
    """Send these bytes on a new connection; all that comes back until the server closes or is done."""
    with connect(server, source) as wire:
        try:
            for piece in pieces:
                wire.sendall(piece)
            wire.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it closed while we were still sending
        answer = b""
        try:
            while not _complete(answer) and (piece := wire.recv(65536)):
                answer += piece
        except OSError:
            pass
        return answer


def _complete(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])
