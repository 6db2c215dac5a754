"""JSON as its RFC has it, and nothing that two readers could understand differently."""

from __future__ import annotations

import json
from typing import Any

import orjson


class UnreadableJson(ValueError):
    """What is wrong with the text, in a sentence for the sender."""


def loads(text: bytes) -> Any:
    """Read one JSON document.

    Refused beyond what JSON forbids: repeated keys, lone surrogates, NaN and infinities, NUL in
    a string (PostgreSQL cannot keep it), nesting over about 1,000 levels, integers over 4,300
    digits. Integers come out exact.

    :raises UnreadableJson: for all of these.
    """
    try:
        orjson.loads(text)  # strict about encoding, surrogates, numbers and depth
    except orjson.JSONDecodeError as error:
        raise UnreadableJson(f"is not JSON: {error}") from None
    try:
        return json.loads(text, object_pairs_hook=_no_repeated_key)
    except RecursionError:
        raise UnreadableJson("is nested too deeply") from None
    except UnreadableJson:
        raise
    except ValueError as error:
        raise UnreadableJson(f"is not usable JSON: {error}") from None


def _no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for key, value in pairs:
        if key in read:
            raise UnreadableJson(f"repeats the key {key!r}")
        read[key] = value
    return read
