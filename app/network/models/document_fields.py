"""The values of the network document: marshmallow fields in addition to the shared ones.

A value with its own kind of input in the console's form has its own class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from marshmallow import Schema, ValidationError, fields

from app.cooperation import in_turns
from app.json_documents import Account, Text, WholeNumber
from app.values.amounts import grouped
from app.values.crypto import parse_evm_address
from app.values.identifiers import MAX_CHAIN_ID

URL_LENGTH: Final = 2048
NAME_LENGTH: Final = 128
SYMBOL_LENGTH: Final = 64
PATH_LENGTH: Final = 64
NOTE_LENGTH: Final = 1024
PASSED_LENGTH: Final = 128
"""Of texts that are published to clients unchanged."""

MAX_DECIMALS: Final = 36
MAX_UINT32: Final = 2**32 - 1

MAX_CONTRACTS: Final = 32
"""Further contracts of one side of a pegged pair."""

DEFAULT_TX_PATH: Final = "/tx/"

MAX_NUMBER: Final = 1_000_000_000
"""Of a number that is only published to clients."""

MAX_EXTRA: Final = 4096
"""Bytes of JSON that a row may have in addition to the known fields."""

_HEX_WORD: Final = re.compile(r"0[xX][0-9A-Za-z]*", re.ASCII)
_LONG_HEX: Final = re.compile(r"0[xX][0-9a-fA-F]{64}", re.ASCII)
_CIDR: Final = re.compile(r"[0-9a-fA-F:.]+/[0-9]{1,3}", re.ASCII)
_LINK_PATH: Final = re.compile(r"/([!-~]*/)?", re.ASCII)
_VISIBLE: Final = re.compile(r"[!-~]+", re.ASCII)
_UNKNOWN: Final = "unknown key"
_WORDS: Final = {"required": "is missing", "null": "must not be null"}
_NOT_IN_URLS: Final = frozenset('"<>\\^`{|}')


class Strict(Schema):
    """An object of the document: unknown keys are refused, and the nearest known one is named."""

    error_messages = {"unknown": _UNKNOWN, "type": "must be an object"}

    def handle_error(self, error: ValidationError, data: Any, **_kwargs: Any) -> None:
        known = [each.data_key or name for name, each in self.load_fields.items()]
        for key, said in error.messages_dict.items():
            if said == [_UNKNOWN]:
                near = get_close_matches(str(key), known, n=1)
                said[:] = [f"{_UNKNOWN}: {f'use {near[0]}' if near else 'remove it'}"]

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.error_messages.update(_WORDS)
        if isinstance(field_obj, fields.List):
            field_obj.inner.error_messages.update(_WORDS)


class _InTurns(list[Any]):
    """A list that lets other requests run while it is read."""

    def __iter__(self) -> Iterator[Any]:
        return in_turns(super().__iter__())


class ListOf(fields.List[Any]):
    """A JSON array. A section's array may have a hundred thousand rows."""

    default_error_messages = {"invalid": "must be a list"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        walked = _InTurns(value) if isinstance(value, list) else value
        return super()._deserialize(walked, attr, data, **kwargs)


class Flag(fields.Field[bool]):
    default_error_messages = {"invalid": "must be true or false"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class TokenStop(Flag):
    """Whether a token is stopped. With the other columns that stop it, it is one state for operators."""


class Name(Text):
    """One line of printable text for people. Spaces at its ends stay: only the console removes them."""

    default_error_messages = {"name": "must be one line of printable text and not only spaces"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        name = super()._deserialize(value, attr, data, **kwargs)
        if not name.isprintable() or not name.strip():
            raise self.make_error("name")
        return name


class Label(Name):
    """One line of printable text without spaces at its ends: what clients compare."""

    default_error_messages = {"label": "must be one line of printable text without spaces at its ends"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        label = super()._deserialize(value, attr, data, **kwargs)
        if label != label.strip():
            raise self.make_error("label")
        return label


class ConfiguredAccount(Account):
    """An account or contract on any chain. An EVM address is accepted in any letter case and stored with its
    checksum. Visible typing errors are refused: what begins with 0x must be an EVM address or 32 bytes (the
    long form of other chains).
    """

    default_error_messages = {
        "space": "must not contain spaces or control characters",
        "length": "must have 40 or 64 hex digits after 0x",
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


class ExplorerUrl(Url):
    """A URL to which a path and a hash are appended: behind a ``?`` or ``#`` they would be no path."""

    default_error_messages = {
        "tail": "must have no ? and no #, as a path and a hash are appended; a path such as /#/transaction/ "
        "goes into tx_path"
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        url = super()._deserialize(value, attr, data, **kwargs)
        if not {"?", "#"}.isdisjoint(url):
            raise self.make_error("tail")
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


class LinkPath(Text):
    """The part between an explorer's URL and a transaction's hash, such as ``/tx/``; empty is that."""

    default_error_messages = {"path": "must begin and end with a / in visible ASCII, such as /transaction/"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(PATH_LENGTH, 0, load_default=DEFAULT_TX_PATH, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        path = super()._deserialize(value, attr, data, **kwargs)
        if path and not (_LINK_PATH.fullmatch(path) and _NOT_IN_URLS.isdisjoint(path)):
            raise self.make_error("path")
        return path or DEFAULT_TX_PATH


class PlainNumber(fields.Field[float]):
    """A JSON number that is only published to clients: 0 to a billion. Whole numbers are stored as such."""

    default_error_messages = {"invalid": f"must be a number from 0 to {grouped(MAX_NUMBER)}"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_NUMBER:
            raise self.make_error("invalid")
        return int(value) if value == int(value) else value


class Extra(fields.Field[dict[str, Any]]):
    """Fields that clients get unchanged: at most 4 KiB of JSON, none with a name that ``known`` returns."""

    default_error_messages = {
        "invalid": "must be an object",
        "size": f"must be at most {MAX_EXTRA} bytes of JSON",
        "known": "must not be in extra: it is a field of its own",
        "value": "must be JSON that every reader understands: no integer over 64 bits",
    }

    def __init__(self, known: Callable[[], Iterable[str]], **kwargs: Any) -> None:
        super().__init__(load_default=dict, **kwargs)
        self.known = known

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.make_error("invalid")
        if shadowing := sorted(value.keys() & set(self.known())):
            raise ValidationError({key: [self.error_messages["known"]] for key in shadowing})
        require_small_json(self, value)
        return value


class AnyJson(fields.Field[Any]):
    default_error_messages = Extra.default_error_messages

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        require_small_json(self, value)
        return value


def require_small_json(field: fields.Field[Any], value: Any) -> None:
    """Make sure that the value can be answered, and in at most ``MAX_EXTRA`` bytes."""
    try:
        size = len(orjson.dumps(value))
    except (orjson.JSONEncodeError, TypeError):
        raise field.make_error("value") from None
    if size > MAX_EXTRA:
        raise field.make_error("size")


class Cidr(fields.Field[str]):
    """An IPv4 or IPv6 network, stored in its canonical spelling."""

    default_error_messages = {
        "invalid": "must be a network such as 203.0.113.0/24 or 2001:db8::/32",
        "host_bits": "must have no bits set beyond its prefix, such as {network}",
        "mapped": "must be written as IPv4, not as IPv4 in IPv6",
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


class ChainNumber(WholeNumber):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(1, MAX_CHAIN_ID, required=True, **kwargs)


class AnyChain(ChainNumber):
    """The id of a chain, which need not be configured."""


class ListedChain(AnyChain):
    """The id of one of the document's chains."""


class Symbol(Label):
    """The symbol of a token, which need not be configured."""

    def __init__(self) -> None:
        super().__init__(SYMBOL_LENGTH, required=True)


class ListedSymbol(Symbol):
    """The symbol of one of the document's tokens."""


class Note(Text):
    def __init__(self) -> None:
        super().__init__(NOTE_LENGTH, least=0, load_default="")


class Contract(ConfiguredAccount):
    """A contract, or an empty text where there is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(least=0, **kwargs)


class Passed(Text):
    def __init__(self, load_default: str = "") -> None:
        super().__init__(PASSED_LENGTH, least=0, load_default=load_default)


class Different(ListOf):
    """At most ``most`` different values, none at all included."""

    def __init__(self, of: fields.Field[Any], most: int) -> None:
        super().__init__(of, load_default=list)
        self.most = most

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        found: Any = super()._deserialize(value, attr, data, **kwargs)
        if len(found) > self.most:
            raise ValidationError(f"must have at most {self.most} entries")
        for index, each in enumerate(found):
            if each in found[:index]:
                raise ValidationError({index: ["is given twice"]})
        return found
