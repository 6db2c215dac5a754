"""The URLs that webhooks may be sent to. Read strictly: two readers must not see two hosts in one URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

MAX_URL: Final = 2048
_PORTS: Final = {"https": 443, "http": 80}
_URL: Final = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>(?:/[!$-;=@-Z_a-z~%]*)?(?:\?[!$-;=?-Z_a-z~%/]*)?)",
    re.ASCII,
)
_NAME: Final = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in its parts. ``host`` is a name or an address without brackets; ``path`` begins with a slash."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def plain(self) -> bool:
        """Whether nothing protects what is sent."""
        return self.scheme == "http"

    @property
    def authority(self) -> str:
        """Host and port as the header ``Host`` has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def place(self) -> str:
        """Host and port, always both: what bounds of concurrency count by."""
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL with its host in lower case."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(text: str) -> Target:
    """Read a URL.

    :raises ValueError: it cannot be used; the message says what it must be.
    """
    if len(text) > MAX_URL:
        raise ValueError(f"must have at most {MAX_URL} characters")
    head, slashes, rest = text.partition("://")
    host, mark, tail = _split(rest)
    match = _URL.fullmatch(head.lower() + slashes + host.lower() + mark + tail)
    if match is None:
        raise ValueError("must be a URL such as https://example.org/hooks, without a name or password in it")
    scheme, port = match["scheme"], int(match["port"] or _PORTS[match["scheme"]])
    if not 0 < port <= 65535:
        raise ValueError("must have a port from 1 to 65535")
    path = match["target"]
    target = Target(scheme, _host(match["host"]), port, path if path.startswith("/") else f"/{path}")
    if len(target.url) > MAX_URL:  # the slash of a path that was left out
        raise ValueError(f"must have at most {MAX_URL} characters")
    return target


def _split(rest: str) -> tuple[str, str, str]:
    """The authority, and what comes behind it with the mark between them."""
    at = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    return rest[:at], rest[at : at + 1], rest[at + 1 :]


def _host(text: str) -> str:
    """A host's name or address as it is connected to.

    The system reads ``127.1``, ``0x7f000001`` and ``017700000001`` as addresses, too. Nobody needs these.
    """
    try:
        if text.startswith("["):
            return str(IPv6Address(text[1:-1]))
        last = text.removesuffix(".").rpartition(".")[2]
        if _NUMBER.fullmatch(last):
            return str(IPv4Address(text))
    except ValueError:
        raise ValueError("must have a host name, or an address in its usual form") from None
    if len(text) > 253 or not _NAME.fullmatch(text.removesuffix(".")):
        raise ValueError("must have a host name in ASCII; write other letters as xn--…")
    return text.removesuffix(".")
