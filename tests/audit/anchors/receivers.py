"""Syslog servers of the tests: the messages that they got, as text."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Datagrams:
    """Takes one message a datagram."""

    socket: socket.socket

    def next(self) -> str:
        return self.socket.recv(4096).decode().rstrip("\0")


@dataclass
class Stream:
    """Takes one message a connection, which ends with a line feed."""

    socket: socket.socket

    def next(self) -> str:
        peer, _ = self.socket.accept()
        with peer, peer.makefile(encoding="utf-8") as lines:
            peer.settimeout(10)
            (line,) = lines
        assert line.endswith("\n")
        return line.removesuffix("\n")


@contextmanager
def receiver(kind: str, folder: Path) -> Iterator[tuple[str, Datagrams | Stream]]:
    """A server, and its part of ``AUDIT_ANCHORS``."""
    stream = kind == "tcp"
    family = socket.AF_UNIX if kind == "unix" else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as server:
        server.settimeout(10)
        server.bind(str(folder / "log") if kind == "unix" else ("127.0.0.1", 0))
        if stream:
            server.listen()
        url = f"unix:{folder}/log" if kind == "unix" else f"{kind}://127.0.0.1:{server.getsockname()[1]}"
        yield url, Stream(server) if stream else Datagrams(server)


@contextmanager
def hanging(folder: Path, *, accepts: bool) -> Iterator[str]:
    """The part of ``AUDIT_ANCHORS`` of one that never reads.

    :param accepts: whether it can be connected to: over TCP what is sent then waits in its socket, and a
        socket of the machine is full after a few messages.
    """
    if accepts:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
            server.bind(str(folder / "hung"))
            yield f"unix:{folder}/hung"
        return
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):  # more than wait to be accepted: the next one is not answered
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
