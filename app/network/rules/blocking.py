"""Who gets no estimate: accounts and networks, each for ever or until a time."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from datetime import datetime
from ipaddress import IPv6Address, ip_address
from typing import TypeVar

from app.values.identifiers import account_key
from app.values.ip_addresses import IPAddress

K = TypeVar("K", str, int)

_FAMILIES = ((4, socket.AF_INET, 32), (6, socket.AF_INET6, 128))


class BlockedAddresses:
    """Accounts of any chain, compared in any letter case. Never changes once built."""

    __slots__ = ("_until",)

    def __init__(self, blocks: Iterable[tuple[str, datetime | None]]) -> None:
        """Add accounts with the end of their block, None for never; the longest block counts."""
        self._until: dict[str, datetime | None] = {}
        for address, until in blocks:
            _latest_only(self._until, account_key(address), until)

    def __len__(self) -> int:
        return len(self._until)

    def blocks(self, address: str, now: datetime) -> bool:
        return _lasts(self._until, account_key(address), now)


class BlockedNetworks:
    """Ranges of caller addresses. Never changes once built."""

    __slots__ = ("_size", "_tables")

    def __init__(self, blocks: Iterable[tuple[str, datetime | None]]) -> None:
        """Add networks such as ``203.0.113.0/24``, without host bits, with the end of their block.

        :raises ValueError: a text is not a network.
        """
        # One dictionary for each prefix length, from the leading bits to the end of the block: a look-up
        # probes each length once, however many networks there are.
        tables: dict[tuple[int, int], dict[int, datetime | None]] = {}
        for cidr, until in blocks:
            version, shift, prefix = _leading_bits(cidr)
            _latest_only(tables.setdefault((version, shift), {}), prefix, until)
        self._tables = {
            version: tuple((shift, table) for (of, shift), table in sorted(tables.items()) if of == version)
            for version, _, _ in _FAMILIES
        }
        self._size = sum(map(len, tables.values()))

    def __len__(self) -> int:
        return self._size

    def blocks(self, address: IPAddress, now: datetime) -> bool:
        """Whether a caller from here is blocked; an IPv4-mapped IPv6 address counts as its IPv4 address."""
        if isinstance(address, IPv6Address):
            address = address.ipv4_mapped or address
        bits = int(address)
        return any(_lasts(table, bits >> shift, now) for shift, table in self._tables[address.version])


def as_network(text: str) -> str:
    """A single IP address as the network of itself; any other text as it is."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    return f"{address}/{address.max_prefixlen}"


def _leading_bits(cidr: str) -> tuple[int, int, int]:
    """The IP version, the number of host bits, and the prefix. Ten times as fast as ``ipaddress``."""
    address, _, length = cidr.partition("/")
    version, family, bits = _FAMILIES[":" in address]
    try:
        number = int.from_bytes(socket.inet_pton(family, address), "big")
        shift = bits - int(length)
    except (OSError, ValueError):
        raise ValueError(f"{cidr} is no network") from None
    if not 0 <= shift <= bits:
        raise ValueError(f"{cidr} is no network")
    return version, shift, number >> shift


def _latest_only(table: dict[K, datetime | None], key: K, until: datetime | None) -> None:
    if key in table:
        before = table[key]
        until = None if before is None or until is None else max(before, until)
    table[key] = until


def _lasts(table: dict[K, datetime | None], key: K, now: datetime) -> bool:
    if key not in table:
        return False
    until = table[key]
    return until is None or now < until
