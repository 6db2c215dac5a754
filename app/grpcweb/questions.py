"""Reading request messages strictly: what does not have the documented form is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from app.domain.errors import BadRequest
from app.domain.wire_values import bounded_uint

Rules = Mapping[str, Callable[[Any], Any]]
"""For fields with a rule beyond their type: a function that reads the value or raises ValueError."""

_BITS: Final = {FieldDescriptor.TYPE_UINT32: 32, FieldDescriptor.TYPE_UINT64: 64}
_VARINT, _EIGHT_BYTES, _LENGTH, _GROUP, _END_OF_GROUP = range(5)


def read_question(kind: type[Message], raw: bytes, rules: Rules) -> dict[str, Any]:
    """The value of every field of a request by its name; zero where the field is not there.

    :raises BadRequest: the bytes are no such message, or fields are malformed: then it names each of them.
    """
    try:
        message = kind.FromString(raw)
    except DecodeError:
        raise BadRequest(f"body: must be a message {kind.DESCRIPTOR.name}") from None
    values: dict[str, Any] = {}
    faults = _too_large_numbers(kind, raw)
    for field in kind.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        try:
            values[field.name] = rules[field.name](value) if field.name in rules else value
        except ValueError as fault:
            faults[field.name] = str(fault)
    if faults:
        raise BadRequest.naming(
            {field.name: faults[field.name] for field in kind.DESCRIPTOR.fields if field.name in faults}
        )
    return values


def _too_large_numbers(kind: type[Message], raw: bytes) -> dict[str, str]:
    """Integers that do not fit their field's type: the fault by field name.

    Protobuf itself drops the upper bits: chain 4294967297 would be read as chain 1
    (docs/interface.md#integers). Of a message within the message the name is that of the outer field.
    """
    return dict(_oversized(kind.DESCRIPTOR, raw))


def _oversized(kind: Any, raw: bytes) -> Iterator[tuple[str, str]]:
    for number, value in _values(raw):
        field = kind.fields_by_number.get(number)
        if field is None:
            continue
        if isinstance(value, bytes):
            if field.message_type is not None:
                yield from (
                    (field.name, f"{name} {fault}") for name, fault in _oversized(field.message_type, value)
                )
        elif field.type in _BITS:
            try:
                bounded_uint(value, _BITS[field.type])
            except ValueError as fault:
                yield field.name, str(fault)


def _values(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field number and value of each variable-length integer of the message itself, and of what has a length.

    :param raw: a message that protobuf has read without an error, so its lengths are valid.
    """
    at = depth = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            if not depth:
                yield tag >> 3, value
        elif kind == _LENGTH:
            length, at = _varint(raw, at)
            if not depth:
                yield tag >> 3, raw[at : at + length]
            at += length
        elif kind in (_GROUP, _END_OF_GROUP):
            depth += 1 if kind == _GROUP else -1
        else:
            at += 8 if kind == _EIGHT_BYTES else 4


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """The integer at an offset, in groups of seven bits with the lowest first, and the offset after it."""
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
