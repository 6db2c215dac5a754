"""JSON as its RFC has it, and nothing that two readers could understand differently."""

from __future__ import annotations

import json
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

    Read twice: orjson is strict about encoding, surrogates and infinities, and its depth is bounded;
    the standard library shows every key and keeps integers over 64 bits. The second reading costs a
    few microseconds for a request or a line of the feed.

    :raises UnreadableJson: for all of these.
    """
    try:
        surveyed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableJson(f"is not JSON: {error}") from None
    _bound_depth(surveyed, MAX_DEPTH)
    try:
        value = _DECODER.decode(text.decode())
    except UnreadableJson:
        raise
    except RecursionError:  # only below a key that is repeated: the rest has been surveyed
        raise UnreadableJson("is nested too deeply") from None
    except ValueError:  # the interpreter's bound on the digits of an integer
        raise UnreadableJson("has an integer of too many digits") from None
    if b"\\u0000" in text and _holds_nul(value):
        raise UnreadableJson("has a NUL character in a string")
    return value


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
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise UnreadableJson(f"repeats the key {key!r}")
            seen.add(key)
    return read


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_no_repeated_key)
"""Made once: making one costs more than reading a line with it."""
