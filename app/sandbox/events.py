"""Event objects of the feed (docs/interface.md#event-feed), as the sandbox makes them."""

from datetime import datetime
from typing import TypeAlias

from app.sandbox.blocks import block_at

Event: TypeAlias = dict[str, object]


def event(kind: str, about: str, at: datetime, /, **fields: object) -> Event:
    """Return an event of type ``kind``; ``about`` makes its id one of a kind among those of the type."""
    return {
        "id": f"sandbox:{kind}:{about}",
        "type": kind,
        "at": at.isoformat(timespec="microseconds"),
        **fields,
    }


def block_event(kind: str, about: str, at: datetime, where: int, /, **fields: object) -> Event:
    """Return an event of the newest block that chain ``where`` had at ``at``.

    As every reporter of block events does, it puts the first digits of the block's hash into the id.
    """
    block = block_at(where, at)
    return event(kind, f"{about}:{block.hash[:18]}", at, **fields, block=block.number, block_hash=block.hash)
