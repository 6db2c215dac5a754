"""A strict JSON reader: it refuses what two readers could understand differently."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 64
"""Levels of arrays and objects: no document of this gateway has more than ten."""


class UnreadableJson(ValueError):
    """The fault of the text, in words for the sender ("is not JSON: …")."""


def loads(text: bytes, *, nul_allowed: bool = False) -> Any:
    """Read one JSON document.

    Refused beyond what JSON forbids: repeated keys, lone surrogates, NaN, infinities and numbers
    that are read as one, NUL in a string (PostgreSQL cannot store it), nesting over ``MAX_DEPTH``
    levels, integers over 4,300 digits. Integers are exact, of any size.

    The text is read twice, unless it is plain. orjson is strict about encoding, surrogates and infinities,
    and bounds the depth. The standard library shows repeated keys and keeps integers over 64 bits.

    :param nul_allowed: for a reader that keeps none of the strings it does not know, and looks for NUL in the
        others itself.
    :raises UnreadableJson: for all of these.
    """
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableJson(f"is not JSON: {error}") from None
    if _is_plain(text, parsed):
        return parsed
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH:  # so many at most are within each other
        _bound_depth(parsed, MAX_DEPTH)
    try:
        value = _DECODER.decode(text.decode())
    except UnreadableJson:
        raise
    except RecursionError:  # only below a repeated key, of which orjson keeps the last value alone
        raise UnreadableJson("is nested too deeply") from None
    except ValueError:  # the interpreter's bound on the digits of an integer
        raise UnreadableJson("has an integer of too many digits") from None
    if not nul_allowed and b"\\u0000" in text and _holds_nul(value):
        raise UnreadableJson("has a NUL character in a string")
    return value


def _is_plain(text: bytes, parsed: Any) -> bool:
    """Whether a text is an object as orjson read it: flat, and no key repeated.

    Without a backslash each quotation mark begins or ends a string, and a key that was repeated has two of
    them that nothing in the object stands for. An integer that orjson had no room for became a float.
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
