"""How commands print."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from app.domain.times import rfc3339


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text with columns as wide as their longest cell."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def time(at: datetime | None) -> str:
    """A time in UTC to the second; ``-`` for none."""
    return rfc3339(at, "seconds") if at else "-"
