"""The kinds of fields that events have: how each is read from a line of the feed, and how it is stored.

An event declares each field by one of these types. No other place describes it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from app.values import json_values as read
from app.values.codes import SendKind, XferStatus
from app.values.identifiers import MAX_CHAIN_ID, MAX_UINT64, BlockNumber, ChainId
from app.values.identifiers import TransferId as TransferKey

MAX_ID: Final = 256
"""Characters of an event id: two hashes of 32 bytes, a chain, a log index and a type need up to 171."""

MAX_BLOCK: Final = 2**63 - 1
MAX_SYMBOL: Final = 64
MAX_REASON: Final = 1024
MAX_SIGNED_BYTES: Final = 4096
MAX_RETRACTED: Final = 10_000
MAX_SUBJECT: Final = 96
"""Characters of a subject: a route of two chain ids and a symbol has up to 92."""


class Misread(ValueError):
    """A field is wrong; the message says what it must be. ``path`` is its place, such as ``signers[1]``."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path, self.message = path, message


class Kind(Struct, frozen=True):
    """How a value is read and stored.

    ``read`` accepts any JSON value and raises ``ValueError`` with what it must be. ``store`` converts to the
    JSON of the canonical body, ``restore`` back; None where both are the same.
    """

    read: Callable[[Any], Any]
    store: Callable[[Any], Any] | None = None
    restore: Callable[[Any], Any] | None = None


def _whole_number(low: int, high: int) -> Kind:
    return Kind(partial(read.read_whole_number, low=low, high=high))


def _text(most: int, least: int = 1) -> Kind:
    return Kind(partial(read.read_text, most=most, least=least))


def _one_of(choices: Mapping[Any, Any], restore: Callable[[Any], Any]) -> Kind:
    def choose(value: Any) -> Any:
        # In Python JSON's true and 1.0 equal 1; neither is accepted.
        if isinstance(value, str | int) and not isinstance(value, bool) and value in choices:
            return choices[value]
        raise ValueError(f"must be one of {', '.join(map(str, choices))}")

    return Kind(choose, restore=restore)


def _list_of(item: Kind, least: int = 0, most: int | None = None) -> Kind:
    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("not a valid list.")
        values = tuple(_read(item, each, f"[{place}]") for place, each in enumerate(value))
        if most is not None and not least <= len(values) <= most:
            raise ValueError(f"length must be between {least} and {most}.")
        return values

    store, restore = item.store, item.restore
    return Kind(
        read_all,
        None if store is None else lambda values: [store(value) for value in values],
        tuple if restore is None else lambda values: tuple(map(restore, values)),
    )


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_AMOUNT: Final = Kind(read.read_amount, str, int)
id_in_one_form: Final = partial(read.event_id_in_one_form, most=MAX_ID)
_EVENT_ID: Final = Kind(partial(read.read_event_id, most=MAX_ID), restore=id_in_one_form)
_HEX: Final = Kind(read.read_32_bytes, bytes.hex, bytes.fromhex)
_SIGNED: Final = Kind(partial(read.read_base64, most=MAX_SIGNED_BYTES), _base64, base64.b64decode)

EventId = Annotated[str, _EVENT_ID]
Time = Annotated[datetime, Kind(read.read_time, datetime.isoformat, datetime.fromisoformat)]
TransferId = Annotated[TransferKey, _HEX]
WithdrawId = Annotated[bytes, _HEX]
Chain = Annotated[ChainId, _whole_number(1, MAX_CHAIN_ID)]
AnyChain = Annotated[ChainId, _whole_number(0, MAX_UINT64)]
"""A chain of a contract's log, which may name chains that cannot be configured."""
Block = Annotated[BlockNumber, _whole_number(0, MAX_BLOCK)]
LogIndex = Annotated[int, _whole_number(0, MAX_BLOCK)]
Slippage = Annotated[int, _whole_number(0, 2**32 - 1)]
Hash = Annotated[str, Kind(read.read_hash)]
Symbol = Annotated[str, _text(MAX_SYMBOL)]
Account = Annotated[str, Kind(read.read_account)]
Amount = Annotated[int, _AMOUNT]
Nonce = Annotated[str, Kind(read.read_nonce, restore=read.nonce_in_one_form)]
Sending = Annotated[SendKind, _one_of({kind.value: kind for kind in SendKind}, SendKind)]
NetworkWord = Annotated[XferStatus, _one_of({int(word): word for word in XferStatus if word}, XferStatus)]
Reason = Annotated[str, _text(MAX_REASON)]
PlainReason = Annotated[str, _text(MAX_REASON, least=0)]
Bytes = Annotated[bytes, _SIGNED]
Signers = Annotated[tuple[str, ...], _list_of(Kind(read.read_signer))]
Powers = Annotated[tuple[int, ...], _list_of(_AMOUNT)]
Targets = Annotated[tuple[str, ...], _list_of(_EVENT_ID, 1, MAX_RETRACTED)]
Subjects = Annotated[tuple[str, ...], _list_of(_text(MAX_SUBJECT))]


class Field(Struct, frozen=True):
    """A field of an event, as its class declares it. One that is not required may be left out, or be null."""

    name: str
    kind: Kind
    required: bool

    def read(self, data: Mapping[str, Any]) -> Any:
        """Its value in a line; None where it is left out.

        :raises Misread: the value is wrong or missing.
        """
        value = data.get(self.name)
        if value is not None:
            return _read(self.kind, value, self.name)
        if self.required:
            missing = "field may not be null." if self.name in data else "missing data for required field."
            raise Misread(self.name, missing)
        return None


def _read(kind: Kind, value: Any, path: str) -> Any:
    if value is None:
        raise Misread(path, "field may not be null.")
    try:
        return kind.read(value)
    except Misread as fault:
        raise Misread(path + fault.path, fault.message) from None
    except ValueError as fault:
        raise Misread(path, str(fault)) from None


_FIRST: Final = ("id", "at", "block", "block_hash", "log_index")
"""The fields that are read first. Of several faults in a line the first one is reported."""


def fields_of(event_class: type[Struct]) -> tuple[Field, ...]:
    """The fields that an event's class declares, in the order in which a line is read."""
    found = [Field(each.name, _kind_of(each.type), each.required) for each in fields(event_class)]
    return tuple(sorted(found, key=lambda each: (*_FIRST, each.name).index(each.name)))


def _kind_of(declared: Any) -> Kind:
    """The kind in a type such as ``Amount | None``."""
    if get_origin(declared) is Annotated:
        _, kind = get_args(declared)
        assert isinstance(kind, Kind)  # noqa: S101  every field of an event has one
        return kind
    of_value, _ = get_args(declared)
    return _kind_of(of_value)
