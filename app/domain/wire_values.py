"""What a client may send, value by value, through whichever door it comes (wire, JSON).

Each function returns the value that the gateway works with or raises ``ValueError`` with a sentence for
people; the door puts the name of the field before it. Amounts are read by ``amounts.parse_uint256``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from app.domain.keys import TransferId

T = TypeVar("T")

MISSING: Final = "is missing"
MAX_SYMBOL_CHARACTERS: Final = 128
MAX_ADDRESS_CHARACTERS: Final = 128

_TRANSFER_ID: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")


def parse_transfer_id(value: object) -> TransferId:
    """The 32 bytes of a transfer id in hex, with or without ``0x``, in any case.

    :param value: a string, or whatever else JSON may hold, which is refused.
    """
    if value == "":
        raise ValueError(MISSING)
    match = _TRANSFER_ID.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a string of 32 bytes in hex (64 digits, with or without 0x)")
    return TransferId(bytes.fromhex(match[1]))


def bounded_text(text: str, longest: int) -> str:
    """The text itself: any up to that many characters, but for NUL, which PostgreSQL cannot keep."""
    if "\0" in text:
        raise ValueError("must not contain the character NUL")
    if len(text) > longest:
        raise ValueError(f"must have at most {longest} characters")
    return text


def bounded_uint(number: int, bits: int) -> int:
    """The number itself, at least 0 already, where an unsigned integer of that many bits holds it."""
    if number >> bits:
        raise ValueError(f"must be at most {2**bits - 1}")
    return number


def token_symbol(text: str) -> str:
    """A token's symbol as the transfer configs spell it."""
    return bounded_text(text, MAX_SYMBOL_CHARACTERS)


def user_address(text: str) -> str:
    """A wallet's address: any text, because not every chain is an EVM."""
    return bounded_text(text, MAX_ADDRESS_CHARACTERS)


def required(rule: Callable[[str], T]) -> Callable[[str], T]:
    """The rule for a value that must be there: an empty one is as good as none."""

    def read(text: str) -> T:
        if not text:
            raise ValueError(MISSING)
        return rule(text)

    return read
