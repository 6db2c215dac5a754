"""Reads the JSON values of documents and of lines of the feed.

Each function takes any JSON value. It returns what the value means, or raises ``ValueError`` with what it
must be. Values of public requests have other rules: see ``wire_values``.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime
from typing import Any, Final

from app.values.amounts import is_uint256, parse_uint256
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import TransferId
from app.values.times import parse_rfc3339
from app.values.wire_values import parse_transfer_id, parse_tx_hash

MAX_ACCOUNT: Final = 128  # characters, on any chain


def read_time(value: Any) -> datetime:
    """An RFC 3339 time with an offset, in UTC; digits after the microsecond are cut."""
    try:
        if isinstance(value, str):
            return parse_rfc3339(value)
    except ValueError:
        pass
    raise ValueError("must be a time with an offset such as 2026-01-31T12:00:00Z")


def read_whole_number(value: Any, low: int, high: int) -> int:
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


MAX_NONCE: Final = 80  # characters

_NUMBER: Final = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]+))", re.ASCII)


def read_nonce(value: Any) -> str:
    """An integer or a string; stored as a string, in its one form."""
    text = str(value) if type(value) is int and is_uint256(abs(value)) else value
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_NONCE or "\x00" in text:
        raise ValueError(f"must be an integer or a string of 1 to {MAX_NONCE} characters")
    return nonce_in_one_form(text)


def nonce_in_one_form(text: str) -> str:
    """A nonce that is a number in decimal digits: without blanks, a plus sign, leading zeros or ``0x``.

    Any other text stays as it is.
    """
    if text.isascii() and text.isdigit() and text[0] != "0":
        return text  # nearly always
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return text
    sign, hexadecimal, decimal = match.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(decimal)
    plain = str(-number if sign == "-" else number)
    return plain if len(plain) <= MAX_NONCE else text


_LOG_ID: Final = re.compile(
    r"(?P<chain>0[xX][0-9a-fA-F]+|[0-9]+):(?:0[xX])?(?P<block>[0-9a-fA-F]{64})"
    r":(?:0[xX])?(?P<tx>[0-9a-fA-F]{64}):(?P<log>0[xX][0-9a-fA-F]+|[0-9]+)(?P<rest>:.*)?",
    re.ASCII | re.DOTALL,
)
"""The id of a log, or of a further fact of it (docs/ingest.md#ids)."""

_SPELLED_ONCE: Final = re.compile(
    r"(?:0|[1-9][0-9]*):0x[0-9a-f]{64}:0x[0-9a-f]{64}:(?:0|[1-9][0-9]*)(?::.*)?", re.ASCII | re.DOTALL
)


def read_event_id(value: Any, most: int) -> str:
    return event_id_in_one_form(read_text(value, most), most)


def event_id_in_one_form(text: str, most: int) -> str:
    """An event's id. That of a log has hashes in lower case with ``0x``, and numbers in decimal digits.

    Other ids are texts of their reporters and stay as they are.
    """
    if ":" not in text or _SPELLED_ONCE.fullmatch(text) or (match := _LOG_ID.fullmatch(text)) is None:
        return text
    chain_id, log_index = (nonce_in_one_form(match[name]) for name in ("chain", "log"))
    block, transaction = match["block"].lower(), match["tx"].lower()
    spelled = f"{chain_id}:0x{block}:0x{transaction}:{log_index}{match['rest'] or ''}"
    return spelled if len(spelled) <= most else text
