"""Receivers of webhooks on this machine, names that lead to them, and a sender."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flask import Flask

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.webhooks.post import NotResolved, Poster
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.sender import Sender

HANG = 0
"""The status of a receiver that takes the request and never answers."""


@dataclass
class Received:
    """One request: its first line, its headers in lower case, its body, and when it came."""

    line: str
    headers: dict[str, str]
    body: bytes
    at: float


@dataclass
class Receiver:
    """A server on 127.0.0.1 with answers of the test.

    :param answer: the status of the answer to each request, and lines of headers.
    """

    answer: Callable[[Received], tuple[int, str]] = lambda _received: (204, "")
    seen: list[Received] = field(default_factory=list)
    port: int = 0
    tls: ssl.SSLContext | None = None

    async def __aenter__(self) -> Receiver:
        self._open: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.close()

    def url(self, host: str = "127.0.0.1", path: str = "/hooks?token=hidden") -> str:
        return f"http://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *rest = head.strip().split("\r\n")
            headers = {n.lower(): v.strip() for n, _, v in (each.partition(":") for each in rest)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            received = Received(line, headers, body, asyncio.get_running_loop().time())
            self.seen.append(received)
            status, more = self.answer(received)
            if status == HANG:
                await reader.read()  # until the other side closes
                return
            writer.write(f"HTTP/1.1 {status} X\r\n{more}Content-Length: 6\r\n\r\nsecret".encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


class Names:
    """A resolver that returns the next of its answers each time, the last one for ever."""

    def __init__(self, **names: Sequence[Sequence[str]]) -> None:
        self.names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.requested: list[str] = []

    async def __call__(self, host: str, _port: int) -> list[str]:
        self.requested.append(host)
        if host not in self.names:
            if host.replace(".", "").isdecimal() or ":" in host:
                return [host]
            raise NotResolved
        answers = self.names[host]
        return list(answers.pop(0) if len(answers) > 1 else answers[0])


async def send_due(app: Flask) -> None:
    """Send what is due by the application's clock."""
    poster = Poster(Names(), part_of(app, AllowedNetworks))
    await sender_of(app, poster).run_once()
    await poster.close()


def sender_of(app: Flask, poster: Poster) -> Sender:
    return Sender(part_of(app, Database), part_of(app, SnapshotSource), part_of(app, AuditKeys), poster)
