"""Differences between stored rows and those that follow from the log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

Values = Mapping[str, Any]


class Difference(Struct, frozen=True):
    """A row that differs from the log. None: there is no such row, or there should be none."""

    table: str
    key: Values
    stored: Values | None
    expected: Values | None
    reason: str = ""
    """Why it differs, where the log shows that an earlier release read it in another way."""

    def __str__(self) -> str:
        return f"{self._words()} (because {self.reason})" if self.reason else self._words()

    def _words(self) -> str:
        row = " ".join([self.table, *(f"{name}={_text(value)}" for name, value in self.key.items())])
        if self.stored is None:
            return f"{row}: is missing"
        if self.expected is None:
            return f"{row}: does not follow from the log"
        columns = (
            f"{name} is {_text(self.stored[name])} and should be {_text(value)}"
            for name, value in self.expected.items()
            if self.stored[name] != value
        )
        return f"{row}: {', '.join(columns)}"

    def more(self, name: str) -> Any:
        """The amount that a column of a sum lacks."""
        expected, stored = ((row or {}).get(name, 0) for row in (self.expected, self.stored))
        return expected - stored


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return value.isoformat() if isinstance(value, datetime) else str(value)
