"""How far a stream of events has been told: the ids of its events (docs/waiting.md#ids)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_SEQ: Final = 2**63 - 1
WHOLE: Final = MAX_SEQ
"""The part of a position behind all that its entry changed."""

_ID: Final = re.compile(r"(\d{1,19})(?:\.(\d{1,9})|\+(\d{1,19}))?", re.ASCII)


class Position(NamedTuple):
    """Behind an entry of the log, or behind an ask for a refund that came after it.

    Asks are kept beside the log and counted by themselves, so one has a place between two entries.
    """

    seq: int
    ask: int = 0
    part: int = WHOLE
    """How many of the changes that the entry made at once; ``WHOLE`` for all of them."""

    def __str__(self) -> str:
        """The id of an event: ``12``, ``12.1`` for the first of several changes, ``12+3`` for an ask."""
        if self.ask:
            return f"{self.seq}+{self.ask}"
        return str(self.seq) if self.part == WHOLE else f"{self.seq}.{self.part}"


BEGINNING: Final = Position(0)


def parse_position(text: str) -> Position:
    """The position that an id names.

    :raises ValueError: with a message for people.
    """
    found = _ID.fullmatch(text)
    if found is None:
        raise ValueError("must be the id of an event of this stream, such as 1200")
    seq, part, ask = found.groups()
    if max(int(seq), int(ask or 0)) > MAX_SEQ:
        raise ValueError("must be the id of an event of this stream, such as 1200")
    return Position(int(seq), int(ask or 0), int(part) if part else WHOLE)
