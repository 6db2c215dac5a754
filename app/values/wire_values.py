"""Reads the values of public requests, for both interfaces (docs/interface/answers.md#json-envelope).

Each function returns the value or raises ``ValueError`` with a message for people; the interface puts the
name of the field before it. Amounts are read by ``amounts.parse_uint256``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from app.values.amounts import is_ascii_digits
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import TransferId, account_key

T = TypeVar("T")

MISSING: Final = "is missing"
MAX_SYMBOL_CHARACTERS: Final = 128
MAX_ADDRESS_CHARACTERS: Final = 128

MAX_ACCOUNTS: Final = 20  # in one request for a history
MAX_STATUSES: Final = 100  # transfers in one request

_SPACES: Final = " \t\n\r\f\v"
"""Around an account. Other white space, about which readers of JSON Schema differ, is part of it."""

_MAX_DIGITS: Final = 78
_UINT64_BITS: Final = 64
_HASH: Final = re.compile(r"(0[xX])?[0-9a-fA-F]{64}", re.ASCII)
_ANY_HASH: Final = re.compile(r"[0-9A-Za-z_-]{1,128}", re.ASCII)
WATCHED_ACCOUNT: Final = (
    "0[xX][0-9a-fA-F]{16}|(0[xX])?([0-9a-fA-F]{40}|[0-9a-fA-F]{64})|[1-9A-Za-z][0-9A-Za-z_-]{24,127}"
)
"""Addresses of EVMs, Flow, Move and NEAR; those of other chains are long, and none begins with a zero."""
_WATCHED: Final = re.compile(WATCHED_ACCOUNT, re.ASCII)
_BARE_EVM: Final = re.compile("[0-9a-fA-F]{40}", re.ASCII)
_TRANSFER_ID: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")


def parse_transfer_id(value: object) -> TransferId:
    """The 32 bytes of a transfer id in hex, with or without ``0x``, in any case.

    :param value: any JSON value; all but strings are refused.
    """
    if value == "":
        raise ValueError(MISSING)
    match = _TRANSFER_ID.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a string of 32 bytes in hex (64 digits, with or without 0x)")
    return TransferId(bytes.fromhex(match[1]))


def bounded_text(text: str, longest: int) -> str:
    """The text itself, if it has at most ``longest`` characters and no NUL (PostgreSQL stores none)."""
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    if len(text) > longest:
        raise ValueError(f"must have at most {longest} characters")
    return text


def bounded_uint(number: int, bits: int) -> int:
    """The number itself, if it fits an unsigned integer of that many bits. It is not negative."""
    if number >> bits:
        raise ValueError(f"must be at most {2**bits - 1}")
    return number


def token_symbol(text: str) -> str:
    return bounded_text(text, MAX_SYMBOL_CHARACTERS)


def user_address(text: str) -> str:
    """A wallet's address: any text, as not every chain is an EVM (docs/interface/answers.md#usr-addr)."""
    return bounded_text(text, MAX_ADDRESS_CHARACTERS)


def sending_account(text: str) -> str:
    """Who sends or receives: any text, as not every chain is an EVM. Of an EVM address in upper and lower
    case the checksum must be right: otherwise a digit of it may be wrong, and the amount lost.
    """
    address = parse_evm_address(user_address(text))
    if address is None:
        return text
    if not any(address):
        raise ValueError("must not be the zero address, which belongs to nobody")
    checked, digits = checksum_address(address), text[2:]
    if digits not in (checked[2:], digits.lower(), digits.upper()):
        raise ValueError(
            "has letters in a case that is not that of its checksum, so a digit may be wrong: compare it "
            "with the account, and send it in lower case if it is right"
        )
    return checked


def parse_nonce(text: str) -> int:
    """The nonce of a send, a decimal string of 64 bits."""
    if not is_ascii_digits(text):
        raise ValueError("must be a string of digits")
    return bounded_uint(int(text) if len(text) <= _MAX_DIGITS else 1 << _UINT64_BITS, _UINT64_BITS)


def watched_account(text: str) -> str:
    """The account of a webhook or a stream: an address of some kind of chain.

    For other texts there would never be an event. ``0x`` may be left out of an address of 20 bytes.
    """
    bounded_text(text, MAX_ADDRESS_CHARACTERS)
    if not _WATCHED.fullmatch(text):
        raise ValueError("must be an address: 0x and 40 hex digits, or that of another kind of chain")
    return text if text[:2] in ("0x", "0X") or not _BARE_EVM.fullmatch(text) else f"0x{text}"


def parse_tx_hash(value: object) -> str:
    """A transaction's or block's hash. 32 bytes in hex are returned in lower case with ``0x``.

    Not every chain is an EVM: other hashes are letters and digits in their own case.

    :param value: any JSON value; all but strings are refused.
    """
    if value == "":
        raise ValueError(MISSING)
    if not isinstance(value, str) or not _ANY_HASH.fullmatch(value):
        raise ValueError("must be a hash: 32 bytes in hex, or up to 128 letters and digits")
    return "0x" + value[-64:].lower() if _HASH.fullmatch(value) else value


def parse_accounts(texts: Iterable[str], one_more: str = "") -> list[str]:
    """The ``account_key`` of each account, each once. A text may hold several, with commas between them.

    :param one_more: the account that clients send next to the list, often one of the list.
    """
    accounts = _divided(texts)
    further = _divided([one_more])
    if not accounts and not further:
        raise ValueError(f"{MISSING}: send an account, or up to {MAX_ACCOUNTS} of them")
    keys = list(dict.fromkeys(account_key(user_address(account)) for account in [*accounts, *further]))
    if max(len(accounts), len(keys)) > MAX_ACCOUNTS:
        raise ValueError(f"must have at most {MAX_ACCOUNTS} accounts: send the others in another request")
    return keys


def _divided(texts: Iterable[str]) -> list[str]:
    parts = (part.strip(_SPACES) for text in texts for part in text.split(","))
    return [part for part in parts if part]


def parse_page_token(text: str) -> int | None:
    """The milliseconds of a ``next_page_token``; None for the newest page."""
    if not text:
        return None
    if not is_ascii_digits(text):
        raise ValueError("must be the next_page_token of the previous page (a time in milliseconds) or empty")
    return bounded_uint(int(text) if len(text) <= _MAX_DIGITS else 1 << _UINT64_BITS, _UINT64_BITS)


def required(rule: Callable[[str], T]) -> Callable[[str], T]:
    """The rule for a required value: an empty one counts as missing."""

    def read(text: str) -> T:
        if not text:
            raise ValueError(MISSING)
        return rule(text)

    return read


def printable(text: str) -> str:
    r"""The text with everything that ends a line or changes a terminal written as an escape, such as ``\n``.

    That is all that Unicode does not call printable: control characters, every kind of line break, characters
    without a width or that turn the direction of writing, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
