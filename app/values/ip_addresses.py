"""The address that a request comes from, and the network by which its caller is counted."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

IPAddress = IPv4Address | IPv6Address


def caller_address(peer: str | None, forwarded_for: str | None, trusted_proxies: int) -> IPAddress | None:
    """The caller's address: the peer, or what the outermost trusted proxy saw.

    :param peer: the address at the other end of the connection.
    :param forwarded_for: the ``X-Forwarded-For`` header, several of them joined by commas.
    :param trusted_proxies: n proxies append to that header, so its n-th entry from the right was written by
        the first of them; entries to its left may be forged. With fewer entries, or an unreadable one, the
        request did not come through all of them: the peer counts.
    :returns: an IPv4-mapped IPv6 address as its IPv4 address; None where there is no address at all (a Unix
        socket).
    """
    if trusted_proxies and forwarded_for:
        entries = forwarded_for.split(",")
        if len(entries) >= trusted_proxies:
            address = _parse(entries[-trusted_proxies].strip())
            if address is not None:
                return address
    return _parse(peer) if peer else None


@lru_cache(maxsize=4096)
def counted_network(address: IPAddress) -> str:
    """The network by which guesses, requests and refund requests from this address are counted.

    The owner of one IPv6 address has its whole /64, 2^64 of them.
    """
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)


@lru_cache(maxsize=4096)
def _parse(text: str) -> IPAddress | None:
    """An address, also as ``1.2.3.4:567``, ``[2001:db8::1]`` or ``[2001:db8::1]:567``."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
