"""Several entries in one record of `logging`: what it costs to hand over a record is shared by them."""

from __future__ import annotations

from typing import NamedTuple


class Told(NamedTuple):
    """An entry, of words and numbers that no caller chose."""

    at: float
    """Seconds since the epoch."""
    message: str
    fields: dict[str, object]
    """What it has beside the message, ``request_id`` among them: it may be written while another request is
    served."""


class Several(tuple[Told, ...]):
    """The message of a record that stands for these entries; in brief for those who do not know of it."""

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(told.message for told in self)
