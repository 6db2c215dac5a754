"""Arguments of static types, at fixed offsets: each takes a word of 32 bytes.

A contract pads an address or a short integer with zeros. Another padding was not written by such a contract,
so it is refused: the value would be read as something that nobody said.
"""

from __future__ import annotations

from typing import Final

WORD: Final = 32
_ADDRESS_PADDING: Final = bytes(12)


class Undecodable(ValueError):
    """A log's bytes are not what its event has; the message says how."""


def bytes32(data: bytes, at: int) -> bytes:
    """The word at an offset."""
    return data[at : at + WORD]


def address(data: bytes, at: int) -> bytes:
    """The 20 bytes of an address."""
    if data[at : at + 12] != _ADDRESS_PADDING:
        raise Undecodable(f"the word at byte {at} is not an address: its first 12 bytes are not zero")
    return data[at + 12 : at + WORD]


def uint256(data: bytes, at: int) -> int:
    """A uint256."""
    return int.from_bytes(data[at : at + WORD], "big")


def uint64(data: bytes, at: int) -> int:
    """A uint64."""
    value = int.from_bytes(data[at : at + WORD], "big")
    if value >> 64:
        raise Undecodable(f"the word at byte {at} is not a uint64")
    return value


def uint32(data: bytes, at: int) -> int:
    """A uint32."""
    value = int.from_bytes(data[at : at + WORD], "big")
    if value >> 32:
        raise Undecodable(f"the word at byte {at} is not a uint32")
    return value
