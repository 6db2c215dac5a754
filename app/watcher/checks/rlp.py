"""Recursive length prefix, the encoding of what the EVM's chains hash (yellow paper, appendix B).

Encoding alone, so it is done here: the library for it would come with six others. The tests compare with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Item = bytes | Sequence["Item"]
"""Bytes, or a list of items."""


def encode(item: Item) -> bytes:
    """The bytes of an item."""
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        return _prefix(len(item), 0x80) + item
    return encode_list(map(encode, item))


def encode_list(encoded: Iterable[bytes]) -> bytes:
    """The bytes of a list, of items that are encoded already."""
    payload = b"".join(encoded)
    return _prefix(len(payload), 0xC0) + payload


def encode_number(number: int) -> bytes:
    """A number as it is written: big-endian without leading zeros, nothing for 0."""
    return encode(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _prefix(length: int, kind: int) -> bytes:
    if length < 56:
        return bytes((kind + length,))
    written = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((kind + 55 + len(written),)) + written
