"""Marshmallow fields of the network document beyond those that every document shares."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

from marshmallow import fields

from app.domain.crypto import parse_evm_address
from app.services.fields import Account, Text

URL_LENGTH: Final = 2048

_HEX_WORD: Final = re.compile(r"0[xX][0-9A-Za-z]*", re.ASCII)
_LONG_HEX: Final = re.compile(r"0[xX][0-9a-fA-F]{64}", re.ASCII)
_CIDR: Final = re.compile(r"[0-9a-fA-F:.]+/[0-9]{1,3}", re.ASCII)
_RATE: Final = re.compile(r"(0|[1-9][0-9]{0,29})(\.[0-9]{1,36})?", re.ASCII)
_VISIBLE: Final = re.compile(r"[!-~]+", re.ASCII)
_NOT_IN_URLS: Final = frozenset('"<>\\^`{|}')


class ListOf(fields.List[Any]):
    """A JSON array."""

    default_error_messages = {"invalid": "must be a list"}


class Flag(fields.Field[bool]):
    """JSON's true or false."""

    default_error_messages = {"invalid": "must be true or false"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class Label(Text):
    """One line of printable text without spaces at its ends: what people and clients compare."""

    default_error_messages = {"label": "must be one line of printable text without spaces at its ends"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        label = super()._deserialize(value, attr, data, **kwargs)
        if not label.isprintable() or label != label.strip():
            raise self.make_error("label")
        return label


class ConfiguredAccount(Account):
    """An account or contract on any chain; an EVM address comes in any letter case and is kept
    with its checksum.

    A typing error is refused where it shows: what begins with 0x is an EVM address or 32 bytes
    (the long form of other chains).
    """

    default_error_messages = {
        "space": "must not contain spaces or control characters",
        "length": "begins with 0x but has neither 40 nor 64 hex digits",
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        account = super()._deserialize(value, attr, data, **kwargs)
        if parse_evm_address(account) is not None:
            return account
        if not account.isprintable() or any(map(str.isspace, account)):
            raise self.make_error("space")
        if _HEX_WORD.fullmatch(account) and not _LONG_HEX.fullmatch(account):
            raise self.make_error("length")
        return account


class Url(Text):
    """An https URL in visible ASCII; http only to this machine itself. May be empty where ``least`` is 0."""

    default_error_messages = {
        "url": "must be an https URL (http only for localhost), such as https://etherscan.io"
    }

    def __init__(self, least: int = 1, **kwargs: Any) -> None:
        super().__init__(URL_LENGTH, least, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        url = super()._deserialize(value, attr, data, **kwargs)
        if url and not _is_safe_url(url):
            raise self.make_error("url")
        return url


def _is_safe_url(url: str) -> bool:
    if not _VISIBLE.fullmatch(url) or not _NOT_IN_URLS.isdisjoint(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for what is no port
    except ValueError:
        return False
    if not parts.hostname or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Cidr(fields.Field[str]):
    """An IPv4 or IPv6 network, kept in its canonical spelling."""

    default_error_messages = {
        "invalid": "must be a network such as 203.0.113.0/24 or 2001:db8::/32",
        "host_bits": "has bits set beyond its prefix; the network is {network}",
        "mapped": "is an IPv4 network written as IPv6; write it as IPv4",
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or not _CIDR.fullmatch(value):
            raise self.make_error("invalid")
        try:
            network: IPv4Network | IPv6Network = ip_network(value, strict=False)
        except ValueError:
            raise self.make_error("invalid") from None
        if network.network_address != ip_address(value.partition("/")[0]):
            raise self.make_error("host_bits", network=network)
        if (
            isinstance(network, IPv6Network)
            and network.prefixlen >= 96
            and network.network_address.ipv4_mapped
        ):
            raise self.make_error("mapped")
        return str(network)


class RateValue(fields.Field[str]):
    """A positive decimal number, plainly written, kept as it is written."""

    default_error_messages = {
        "invalid": 'must be a positive decimal string such as "1.000001", '
        "with at most 30 digits before and 36 after the point"
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or not _RATE.fullmatch(value) or not value.strip("0."):
            raise self.make_error("invalid")
        return value
