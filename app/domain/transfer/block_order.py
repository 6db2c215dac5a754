"""The order of a block's events, which their ids end with (docs/interface.md#by-transaction)."""

from __future__ import annotations

import re
from typing import Final

_NUMBERS: Final = re.compile(r"([0-9]+)")


def in_block_order(event_id: str) -> tuple[str | int, ...]:
    """A key by which ids sort that differ in their place in a block: 2 before 10."""
    # Every second part is a number, so parts at one place are always of one type.
    return tuple(int(part) if index % 2 else part for index, part in enumerate(_NUMBERS.split(event_id)))
