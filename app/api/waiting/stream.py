"""Events as a stream of text (server-sent events), which browsers read by themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from app.domain.following.change import STATUS_EVENT
from app.domain.following.changes import PlacedChange
from app.domain.following.position import Position

RETRY_MILLISECONDS: Final = 2_000
"""When a client whose connection broke comes again."""

RESET_EVENT: Final = "reset"


def opening(position: Position) -> bytes:
    """The first lines: when to come again, and with which id."""
    return f"retry: {RETRY_MILLISECONDS}\nid: {position}\n\n".encode()


def heartbeat(position: Position) -> bytes:
    """A comment, which shows that the connection lives, and how far everything was told."""
    return f": nothing new\nid: {position}\n\n".encode()


def reset(position: Position) -> bytes:
    """Too much came since the client's last event: it reads the statuses anew, and hears what follows."""
    return _event(position, RESET_EVENT, {"type": RESET_EVENT, "data": {"seq": position.seq}})


def told(changes: Iterable[PlacedChange]) -> bytes:
    """Changes of statuses, each an event with its id."""
    return b"".join(
        _event(each.position, STATUS_EVENT, each.change.event(each.at, each.position.seq)) for each in changes
    )


def _event(position: Position, name: str, document: dict[str, Any]) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        str(position).encode(),
        name.encode(),
        orjson.dumps(document),
    )
