"""Readers of answers, as strict as clients are: a Go program's structs, and validators such as zod's.

They are written from the published fields, apart from the schemas of the gateway. Each reader takes a value
of JSON and raises ``Refused`` with its place.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Container, Mapping
from typing import Any

Reader = Callable[[Any, str], None]
Fields = Mapping[str, Reader]


class Refused(Exception):
    """The client cannot read this."""


def _must(holds: bool, place: str, value: object) -> None:
    if not holds:
        raise Refused(f"{place}: {value!r}")


def uint(bits: int) -> Reader:
    """An integer in JSON, written without a point: Go refuses 1.0, and true is no number."""

    def read(value: Any, place: str) -> None:
        _must(type(value) is int and 0 <= value < 1 << bits, place, value)

    return read


def one_of(*values: Any) -> Reader:
    def read(value: Any, place: str) -> None:
        _must(value in values and type(value) in {type(each) for each in values}, place, value)

    return read


def number(value: Any, place: str) -> None:
    _must(type(value) in (int, float), place, value)


def text(value: Any, place: str) -> None:
    _must(isinstance(value, str), place, value)


def flag(value: Any, place: str) -> None:
    _must(isinstance(value, bool), place, value)


def amount(value: Any, place: str) -> None:
    """What JavaScript's BigInt reads: "" is 0n."""
    _must(isinstance(value, str) and re.fullmatch("[0-9]*", value) is not None, place, value)
    _must(int(value or 0) < 1 << 256, place, value)


def data(size: int | None = None) -> Reader:
    """Standard base64 with padding, as Go writes bytes."""

    def read(value: Any, place: str) -> None:
        text(value, place)
        try:
            raw = base64.b64decode(value, validate=True)
        except binascii.Error:
            raise Refused(f"{place}: {value!r}") from None
        _must(base64.b64encode(raw).decode() == value and len(raw) == (size or len(raw)), place, value)

    return read


def or_null(reader: Reader) -> Reader:
    def read(value: Any, place: str) -> None:
        if value is not None:
            reader(value, place)

    return read


def list_of(reader: Reader) -> Reader:
    """A list, never null: JavaScript would fail on null.map."""

    def read(value: Any, place: str) -> None:
        _must(isinstance(value, list), place, value)
        for index, each in enumerate(value):
            reader(each, f"{place}[{index}]")

    return read


def map_of(reader: Reader) -> Reader:
    """An object keyed by chain id."""

    def read(value: Any, place: str) -> None:
        _must(isinstance(value, dict), place, value)
        for key, each in value.items():
            _must(key.isascii() and key.isdigit(), place, key)
            reader(each, f"{place}.{key}")

    return read


def go_struct(fields: Fields, *, unknown_refused: bool = True) -> Reader:
    """A struct: a missing field has its zero value. Readers of protobuf's JSON refuse unknown names."""

    def read(value: Any, place: str) -> None:
        _must(isinstance(value, dict), place, value)
        for name, each in value.items():
            if name in fields:
                fields[name](each, f"{place}.{name}")
            else:
                _must(not unknown_refused, place, name)

    return read


def zod_object(fields: Fields, *, optional: Container[str] = ()) -> Reader:
    """A validated object: every field must be there; unknown ones are cut off."""

    def read(value: Any, place: str) -> None:
        _must(isinstance(value, dict), place, value)
        for name, reader in fields.items():
            if name not in value:
                _must(name in optional, place, f"no {name}")
            else:
                reader(value[name], f"{place}.{name}")

    return read


def parse(body: bytes) -> Any:
    """JSON of one document without repeated names, NaN or infinities."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in members]
        _must(len(set(names)) == len(names), "$", names)
        return dict(members)

    def constant(name: str) -> Any:
        raise Refused(name)

    return json.loads(body.decode(), object_pairs_hook=pairs, parse_constant=constant)
