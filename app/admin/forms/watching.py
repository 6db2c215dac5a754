"""Fields of how a chain is watched."""

from __future__ import annotations

import re
from typing import Any, Final

from app.admin.forms.fields import LineField
from app.domain.amounts import is_ascii_digits
from app.domain.watching.terms import FINALIZED

_NUMBER: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?", re.ASCII)


class FinalityField(LineField):
    """A number of blocks, or the nodes' own word."""

    def parse(self, text: str) -> Any:
        text = text.strip()
        if not text or text.lower() == FINALIZED:
            return text.lower() or None
        if not is_ascii_digits(text) or len(text) > 20:
            raise ValueError(f"Enter a whole number of blocks, or {FINALIZED}.")
        return int(text)


class SecondsField(LineField):
    """A number of seconds."""

    def parse(self, text: str) -> Any:
        text = text.strip()
        if not _NUMBER.fullmatch(text):
            raise ValueError("Enter a number of seconds, such as 5 or 0.5.")
        return float(text) if "." in text else int(text)
