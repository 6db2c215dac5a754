"""The addresses and URLs that webhooks may be sent to (docs/webhooks.md#addresses).

The address that is connected to is the one that was checked. A name is resolved for each attempt, all its
addresses are checked, and the connection goes to one of these. So a name cannot evade the check by changing
its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from msgspec import Struct

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SPECIAL_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
            "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
            "224.0.0.0/4", "240.0.0.0/4",
        ),
    )
)  # fmt: skip
"""IANA's registry of special purposes, and multicast."""

_GLOBAL_V6: Final = IPv6Network("2000::/3")
"""The range for unicast. Outside of it are loopback, link-local, unique local, multicast, IPv4-mapped
addresses and NAT64."""

_SPECIAL_V6: Final = tuple(
    map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"))
)
"""Special ranges inside of it: Teredo, ORCHID and other protocols, documentation, 6to4, AS112."""


_OF_CLOUDS: Final = tuple(
    map(IPv4Network, ("168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14", "192.80.8.124/32"))
)
"""Public addresses at which clouds serve secrets to their own machines:
Azure's agent and metadata, IBM's service endpoints (two), Equinix Metal's metadata. Those of other clouds,
such as 169.254.169.254, 100.100.100.200, 192.0.0.192 and fd00:ec2::254, are special by the registry."""


_NOT_PUBLIC: Final = "the address is neither public nor in WEBHOOK_ALLOW_NETWORKS"


class AddressRefused(ValueError):
    """Webhooks are not sent to this address; the message says why."""


def is_public(address: Address) -> bool:
    """Whether the address belongs to a host of the public Internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in (*_SPECIAL_V4, *_OF_CLOUDS))
    return address in _GLOBAL_V6 and not any(address in network for network in _SPECIAL_V6)


def is_allowed(address: Address, networks: Iterable[Network]) -> bool:
    """Whether the address is in one of the networks that the operator opened."""
    return any(address.version == network.version and address in network for network in networks)


def checked_addresses(found: Sequence[str], networks: Sequence[Network], *, plain: bool) -> list[Address]:
    """The addresses of a name, each once, after checking that all may be connected to.

    :param found: as the resolver wrote them.
    :param networks: that the operator opened.
    :param plain: whether the URL is of http: then only these networks count.
    :raises AddressRefused: the name has no address, or one of them is refused.
    """
    addresses = list(dict.fromkeys(map(_read, found)))
    if not addresses:
        raise AddressRefused("the name has no address")
    for address in addresses:
        if is_allowed(address, networks):
            continue
        if plain:
            raise AddressRefused("http is only for networks that WEBHOOK_ALLOW_NETWORKS names")
        if not is_public(address):
            raise AddressRefused(_NOT_PUBLIC)
    return addresses


def _read(text: str) -> Address:
    if "%" in text:  # an address of one interface of this machine
        raise AddressRefused(_NOT_PUBLIC)
    try:
        return ip_address(text)
    except ValueError:
        raise AddressRefused("the name has no address") from None


class AllowedNetworks(tuple[Network, ...]):
    """Where webhooks may go in addition to the public Internet."""

    __slots__ = ()


def parse_networks(texts: Iterable[str]) -> AllowedNetworks:
    """Networks from their CIDRs.

    :raises ValueError: a text is no network, or has bits set behind its prefix.
    """
    return AllowedNetworks(ip_network(text) for text in texts)


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


class Target(Struct, frozen=True):
    """A URL in its parts. ``host`` is a name or an address without brackets; ``path`` begins with a slash."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def plain(self) -> bool:
        """Whether what is sent is not encrypted."""
        return self.scheme == "http"

    @property
    def authority(self) -> str:
        """Host and port as the header ``Host`` has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def place(self) -> str:
        """Host and port, always both. Concurrency is bounded by place."""
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
    """The authority, and the rest with the character that separates them."""
    at = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    return rest[:at], rest[at : at + 1], rest[at + 1 :]


def _host(text: str) -> str:
    """A host's name or address as it is connected to.

    The system reads ``127.1``, ``0x7f000001`` and ``017700000001`` as addresses, too. They are refused.
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
