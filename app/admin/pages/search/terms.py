"""Reads what was typed into the search box: whole hashes and addresses, links with one, parts of an id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

HASH_DIGITS: Final = 64
ADDRESS_DIGITS: Final = 40
LEAST_PART: Final = 4
"""Hex digits that a part needs at one of its ends: of a million ids, about 15 share them."""

MOST_INSIDE: Final = 10
"""Hashes and addresses of a pasted text that are tried; each costs some reads."""

_HEX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)
_WHOLE: Final = re.compile(
    rf"(?<![0-9a-zA-Z])(?:0[xX])?([0-9a-fA-F]{{{HASH_DIGITS}}}|[0-9a-fA-F]{{{ADDRESS_DIGITS}}})(?![0-9a-zA-Z])",
    re.ASCII,
)
_CUT: Final = re.compile(r"(0[xX])?([0-9a-fA-F]*)(?:…|⋯|\.{2,3})([0-9a-fA-F]*)", re.ASCII)
_LINK: Final = re.compile(r"(?:https?://|(?:[a-z0-9-]+\.)+[a-z]{2,}/)\S*", re.ASCII | re.IGNORECASE)
_WORDS_OF_A_LINK: Final = re.compile(r"[0-9A-Za-z_-]{25,128}", re.ASCII)
"""Shorter ones are names of pages; the accounts of no chain that we know are."""


@dataclass(frozen=True, slots=True)
class Part:
    """How an id or an account begins and ends, in lower-case hex digits without 0x.

    ``open_ended``: the digits may be its beginning or its end, and both fields have them.
    """

    start: str
    end: str
    open_ended: bool = False


def hex_digits(text: str) -> str:
    """The lower-case digits of a text that is hex with or without 0x; empty for any other."""
    match = _HEX.fullmatch(text)
    return match[1].lower() if match else ""


def is_link(text: str) -> bool:
    """Whether the text is an address of the web, such as that of a transaction in an explorer."""
    return bool(_LINK.fullmatch(text.strip()))


def whole_ones(text: str) -> list[str]:
    """The hashes and addresses that stand in a link or a message, each once, the last first; not too many.

    So of the page of a token for an account, the account is tried before the token.
    """
    found = [f"0x{match[1]}" for match in _WHOLE.finditer(text)]
    if is_link(text):
        found += list(_WORDS_OF_A_LINK.findall(text.partition("//")[2] or text))
    return list(dict.fromkeys(reversed(found)))[:MOST_INSIDE]


def read_part(text: str) -> Part | None:
    """The part of an id or account that a text is: as pages show it (``0x0000…0306``), or digits of one end.

    None for anything else, and for whole ones.
    """
    cut = _CUT.fullmatch(text)
    if cut:
        part = Part(cut[2].lower(), cut[3].lower())
        return part if len(part.start) + len(part.end) < HASH_DIGITS else None
    digits = hex_digits(text)
    if not digits or len(digits) == ADDRESS_DIGITS or len(digits) >= HASH_DIGITS:
        return None
    with_0x = text[:2].lower() == "0x"
    return Part(digits, "") if with_0x else Part(digits, digits, open_ended=True)
