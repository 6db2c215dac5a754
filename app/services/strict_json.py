"""JSON as its RFC has it, and nothing that two readers could understand differently."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 64
"""Levels of arrays and objects: no document of this gateway has more than ten."""


class UnreadableJson(ValueError):
    """What is wrong with the text, in a sentence for the sender ("is not JSON: …")."""


def loads(text: bytes) -> Any:
    """Read one JSON document.

    Refused beyond what JSON forbids: repeated keys, lone surrogates, NaN, infinities and numbers
    that come out as one, NUL in a string (PostgreSQL cannot keep it), nesting over ``MAX_DEPTH``
    levels, integers over 4,300 digits. Integers come out exact, of any size.

    :raises UnreadableJson: for all of these.
    """
    try:
        value = orjson.loads(text)  # strict about encoding, surrogates, infinities, and its depth is bounded
    except orjson.JSONDecodeError as error:
        raise UnreadableJson(f"is not JSON: {error}") from None
    strings, exact = _survey(value, MAX_DEPTH)
    if not exact or 2 * strings != text.count(b'"'):
        value = _loads_exactly(text)
    if b"\\u0000" in text and _holds_nul(value):
        raise UnreadableJson("has a NUL character in a string")
    return value


def _survey(value: Any, levels: int) -> tuple[int, bool]:
    """How many strings a parsed document holds, keys included, and whether it holds no float.

    orjson keeps the last of repeated keys and turns integers over 64 bits into floats. In a text
    without an escaped quote every string has two quotes: if those of the strings read account for
    all there are, no key was dropped. This costs a third of a second, careful parse.

    :raises UnreadableJson: for nesting over ``levels``.
    """
    if not levels and isinstance(value, dict | list):
        raise UnreadableJson(f"is nested more than {MAX_DEPTH} levels deep")
    items: Iterable[Any]
    if isinstance(value, dict):
        strings, items = len(value), value.values()
    elif isinstance(value, list):
        strings, items = 0, value
    else:
        return int(isinstance(value, str)), not isinstance(value, float)
    exact = True
    for item in items:
        kind = type(item)
        if kind is str:
            strings += 1
        elif kind is dict or kind is list:
            inner, inner_exact = _survey(item, levels - 1)
            strings += inner
            exact &= inner_exact
        elif kind is float:
            exact = False
    return strings, exact


def _holds_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any("\0" in key or _holds_nul(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value


def _loads_exactly(text: bytes) -> Any:
    """Read again, slowly, what orjson has found to be JSON."""
    try:
        return json.loads(text, object_pairs_hook=_no_repeated_key)
    except UnreadableJson:
        raise
    except RecursionError:  # only below a key that is repeated: the rest has been surveyed
        raise UnreadableJson("is nested too deeply") from None
    except ValueError:  # the interpreter's bound on the digits of an integer
        raise UnreadableJson("has an integer of too many digits") from None


def _no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise UnreadableJson(f"repeats the key {key!r}")
            seen.add(key)
    return read
