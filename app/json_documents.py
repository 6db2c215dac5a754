"""Reads JSON strictly, and has the fields of marshmallow schemas that several documents share."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

import orjson
from marshmallow import ValidationError, fields

from app.values import json_values
from app.values.times import rfc3339

T = TypeVar("T")

MAX_DEPTH: Final = 64
"""Levels of arrays and objects: no document of this gateway has more than ten."""


class UnreadableJson(ValueError):
    """The fault of the text, in words for the sender ("is not JSON: …")."""


def loads(text: bytes, *, nul_allowed: bool = False) -> Any:
    """Read one JSON document.

    Beyond JSON's own rules it refuses repeated keys, lone surrogates, NaN, infinities and numbers that are
    read as one, NUL in a string (PostgreSQL cannot store it), nesting over ``MAX_DEPTH`` levels, integers
    over 4,300 digits. Integers are exact, of any size.

    :param nul_allowed: for a reader that stores no unknown strings, and checks the others for NUL itself.
    :raises UnreadableJson: for all of these.
    """
    # Read twice, unless it is plain. orjson is strict about encoding, surrogates and infinities, and bounds
    # the depth. The standard library shows repeated keys and preserves integers over 64 bits.
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableJson(f"is not JSON: {error}") from None
    if _is_plain(text, parsed):
        return parsed
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH:  # at most so many are within each other
        _bound_depth(parsed, MAX_DEPTH)
    try:
        value = _DECODER.decode(text.decode())
    except UnreadableJson:
        raise
    except RecursionError:  # only below a repeated key, of which orjson returns only the last value
        raise UnreadableJson("is nested too deeply") from None
    except ValueError:  # the interpreter's limit of an integer's digits
        raise UnreadableJson("has an integer of too many digits") from None
    if not nul_allowed and b"\\u0000" in text and _holds_nul(value):
        raise UnreadableJson("has a NUL character in a string")
    return value


def _is_plain(text: bytes, parsed: Any) -> bool:
    """Whether orjson's result is the whole text: a flat object without a repeated key.

    Without a backslash each quotation mark begins or ends a string. A repeated key has two of them without a
    counterpart in the object. An integer that is too large for orjson became a float.
    """
    if type(parsed) is not dict or b"\\" in text:
        return False
    strings = len(parsed)
    for value in parsed.values():
        kind = type(value)
        if kind is str:
            strings += 1
        elif kind is float or kind is dict or kind is list:
            return False
    return text.count(b'"') == 2 * strings


def _bound_depth(value: Any, levels: int) -> None:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if items is None:
        return
    if not levels:
        raise UnreadableJson(f"is nested more than {MAX_DEPTH} levels deep")
    for item in items:
        _bound_depth(item, levels - 1)


def _holds_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any("\0" in key or _holds_nul(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value


def _no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise UnreadableJson(f"repeats the key {key!r}")
            keys.add(key)
    return read


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_no_repeated_key)
"""Made once: making one takes longer than reading a line with it."""


class Time(fields.Field[datetime]):
    """RFC 3339 with an offset; digits after the microsecond are cut."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> datetime:
        return _valid(json_values.read_time, value)

    def _serialize(self, value: datetime | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else rfc3339(value)


class WholeNumber(fields.Field[int]):
    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.low, self.high = low, high

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        return _valid(json_values.read_whole_number, value, self.low, self.high)


class Amount(fields.Field[int]):
    """A uint256 as a decimal string."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        return _valid(json_values.read_amount, value)

    def _serialize(self, value: int | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value)


class Text(fields.Field[str]):
    """Text without NUL, which PostgreSQL cannot store."""

    def __init__(self, most: int, least: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most, self.least = most, least

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return _valid(json_values.read_text, value, self.most, self.least)


class Account(Text):
    """An account on any chain; an EVM address is stored with its checksum."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(json_values.MAX_ACCOUNT, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return _valid(json_values.read_account, value, self.least)


class Signer(fields.Field[str]):
    """A validator: a 0x address other than the zero address, stored with its checksum."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return _valid(json_values.read_signer, value)


def _valid(read: Callable[..., T], value: Any, *bounds: int) -> T:
    """The reader's result, or its error in marshmallow's form."""
    try:
        return read(value, *bounds)
    except ValueError as fault:
        raise ValidationError(str(fault)) from None
