"""Reads the JSON values of documents and of lines of the feed.

Each function takes any JSON value. It returns what the value means, or raises ``ValueError`` with what it
must be. Values of public requests have other rules: see ``wire_values``.
"""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any, Final

from app.values.amounts import is_uint256, parse_uint256
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import TransferId
from app.values.times import parse_rfc3339
from app.values.wire_values import parse_transfer_id, parse_tx_hash

MAX_ACCOUNT: Final = 128
"""Characters of an account on any chain."""


def read_time(value: Any) -> datetime:
    """An RFC 3339 time with an offset, in UTC; digits after the microsecond are cut."""
    try:
        if isinstance(value, str):
            return parse_rfc3339(value)
    except ValueError:
        pass
    raise ValueError("must be a time with an offset such as 2026-01-31T12:00:00Z")


def read_whole_number(value: Any, low: int, high: int) -> int:
    """A JSON integer in a range."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"must be an integer from {low} to {high}")
    return value


def read_amount(value: Any) -> int:
    """A uint256 as a decimal string."""
    try:
        if isinstance(value, str):
            return parse_uint256(value)
    except ValueError:
        pass
    raise ValueError('must be a string of decimal digits up to 2^256-1, such as "1000000"')


def read_text(value: Any, most: int, least: int = 1) -> str:
    """Text without NUL, which PostgreSQL cannot store."""
    if not isinstance(value, str) or not least <= len(value) <= most or "\x00" in value:
        raise ValueError(f"must be a text of {least} to {most} characters without NUL")
    return value


def read_account(value: Any, least: int = 1) -> str:
    """An account on any chain; an EVM address gets its checksum."""
    account = read_text(value, MAX_ACCOUNT, least)
    address = parse_evm_address(account)
    return account if address is None else checksum_address(address)


def read_signer(value: Any) -> str:
    """A validator: a 0x address other than the zero address, with its checksum."""
    address = parse_evm_address(value) if isinstance(value, str) else None
    if address is None or not any(address):
        raise ValueError("must be a 0x address of 20 bytes, not all zero")
    return checksum_address(address)


def read_32_bytes(value: Any) -> TransferId:
    """32 bytes in hex, with or without 0x, in any case."""
    try:
        return parse_transfer_id(value)
    except ValueError:
        raise ValueError("must be 32 bytes in hex, with or without 0x") from None


def read_hash(value: Any) -> str:
    """A transaction or block hash. 32 bytes in hex are stored in lower case with 0x.

    Not every chain is an EVM: other hashes are letters and digits, which is also all that may go into a link.
    """
    try:
        return parse_tx_hash(value)
    except ValueError:
        message = "must be a hash: 32 bytes in hex, or up to 128 letters and digits"
        raise ValueError(message) from None


def read_base64(value: Any, most: int) -> bytes:
    """Bytes in standard padded base64."""
    try:
        decoded = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        decoded = b""
    # Only the canonical spelling: stray bits after the last byte are refused.
    if not 0 < len(decoded) <= most or base64.b64encode(decoded).decode() != value:
        raise ValueError(f"must be 1 to {most} bytes in standard base64 with padding")
    return decoded


def read_nonce(value: Any) -> str:
    """An integer or a string; stored as a string."""
    text = str(value) if type(value) is int and is_uint256(abs(value)) else value
    if not isinstance(text, str) or not 1 <= len(text) <= 80 or "\x00" in text:
        raise ValueError("must be an integer or a string of 1 to 80 characters")
    return text
