"""Times as people type them."""

from __future__ import annotations

import re
from typing import Final

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([Zz]|[+-]\d\d:\d\d)$", re.ASCII)


def written_time(text: str) -> str | None:
    """A typed day or time in UTC as the network document writes it; None where nothing is typed."""
    found = text.strip().removesuffix("UTC").strip()
    if not found:
        return None
    if _DAY.fullmatch(found):
        found += " 00:00:00Z"
    elif _MINUTE.fullmatch(found):
        found += ":00Z"
    return found if _OFFSET.search(found) else f"{found}Z"
