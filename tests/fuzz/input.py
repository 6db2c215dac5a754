"""One input: the bytes of a request, the interface that it goes to, and the bounds of its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Input:
    """What is sent.

    :param raw: the bytes, which end where the request does.
    :param source: the address of this machine that it comes from.
    :param timeout: seconds after which an answer is not waited for, None where one must come.
    :param most: how many answers may come at most.
    """

    interface: str
    raw: bytes
    source: str = "127.0.0.1"
    timeout: float | None = None
    most: int = 1
    fresh: bool = False
    """Whether it needs a connection of its own, and is sent to its end."""

    @property
    def method(self) -> bytes:
        """Of the (first) request."""
        return self.raw.split(b" ", 1)[0]

    @property
    def target(self) -> bytes:
        """Path and query of the (first) request."""
        parts = self.raw.split(b"\r\n", 1)[0].split(b" ")
        return parts[1] if len(parts) > 1 else b""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the inputs are made from: names of things that exist at the server."""

    ids: list[str]
    accounts: list[str]
    token: str
    api_key: str
    email: str
    password: str
    examples: list[dict[str, Any]] = field(default_factory=list)
    """Right requests of JSON operations: method, path, body."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    """Right calls of gRPC-Web: path, frames in base64."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    """Events that were taken."""

    forms: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    """Forms of the console: where each goes to, and its fields."""

    pages: list[str] = field(default_factory=list)
    """Paths of the console."""

    public: list[str] = field(default_factory=list)
    """Paths of documentation, of the pages of transfers, and of files."""


def http_request(method: bytes, target: bytes, headers: list[bytes], body: bytes | None = None) -> bytes:
    """One request of HTTP/1.1, as it should be written."""
    lines = [method + b" " + target + b" HTTP/1.1", *filter(None, headers)]
    if not any(each.lower().startswith(b"host:") for each in headers):
        lines.insert(1, b"Host: gateway.example")
    if body is not None:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")
