"""The plain refund ask as a regular expression over its base64, for the OpenAPI document.

Tools that make up requests from the document cannot make up a protobuf message, and what they send at
random is refused. So the document describes the message that has nothing but what is read: ``xfer_id`` in
64 hex digits, ``req_id`` (a time in seconds, 5 bytes as a varint) or none, ``withdraw_type`` 1. Every text
of this form is read; so is any other encoding of the message (``domain.refund.ask``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS: Final = b"0123456789"
_LETTERS: Final = b"ABCDEFabcdef"
_HEX_TRIPLES: Final = 21
"""After the tag, the length and the first digit, the other 63 digits fill whole groups of base64."""


def _one_of(values: Iterable[int]) -> str:
    return "[" + "".join(_ALPHABET[value] for value in sorted(set(values))) + "]"


def _last(digits: bytes, before: Iterable[int]) -> str:
    """The end of a group of three bytes, the third a hex digit: ``before`` are low halves of the second."""
    return _one_of(low << 2 | digits[0] >> 6 for low in before) + _one_of(each & 63 for each in digits)


def _ends(before: Iterable[int]) -> str:
    low = list(before)
    return f"(?:{_last(_DIGITS, low)}|{_last(_LETTERS, low)})"


def _starts(high: Iterable[int]) -> str:
    """The beginning of a group whose first byte is a hex digit: ``high`` are high halves of the second."""
    halves = list(high)
    by_first: dict[int, set[int]] = {}
    for digit in _DIGITS + _LETTERS:
        by_first.setdefault(digit >> 2, set()).update((digit & 3) << 4 | half for half in halves)
    return "(?:" + "|".join(_ALPHABET[first] + _one_of(second) for first, second in by_first.items()) + ")"


def _hex_triple() -> str:
    kinds = (_starts({d >> 4 for d in kind}) + _ends({d & 15 for d in kind}) for kind in (_DIGITS, _LETTERS))
    return f"(?:{'|'.join(kinds)})"


def _req_id() -> str:
    """Tag 0x20 and a varint of five bytes, the first four with their upper bit set: two whole groups."""
    any_of_64 = range(64)
    continued = [value for value in any_of_64 if value & 8]
    return "".join(
        (
            "I",
            _one_of(range(8, 16)),
            _one_of(value for value in any_of_64 if value & 2),
            _one_of(any_of_64),
            _one_of(range(32, 64)),
            _one_of(continued),
            _one_of(value for value in any_of_64 if not value & 2),
            _one_of(any_of_64),
        )
    )


PLAIN_ASK: Final = f"^Ck{_ends([0])}(?:{_hex_triple()}){{{_HEX_TRIPLES}}}(?:{_req_id()})?KAE=$"
"""Base64 of tag 0x0a and length 64 begins with ``Ck``; of tag 0x28 and the type 1 it is ``KAE=``."""
