"""Subjects and keys of events: what an event is about, and what identifies it."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from app.values.identifiers import ChainId, RouteKey


class Side(Enum):
    """Which of a transfer's two chains an event's block belongs to."""

    SOURCE = "source"
    DESTINATION = "destination"


OPERATORS: Final = "operators"
"""The subject of retractions, which are about no transfer, chain or route."""


class EventKey(NamedTuple):
    """Identifies an event by its subject and its id (docs/interface/events.md#event-ids).

    An id is unique within its subject: ``transfer:0x…``, else ``chain:ID``, else ``route:SRC:DST:SYMBOL``.
    """

    subject: str
    id: str


def subject_of_transfer(transfer_id: bytes) -> str:
    return f"transfer:0x{transfer_id.hex()}"


def transfer_of_subject(subject: str) -> bytes | None:
    """The transfer id of a subject; None for a chain, a route or the operators."""
    kind, _, hexadecimal = subject.partition(":0x")
    return bytes.fromhex(hexadecimal) if kind == "transfer" else None


def subject_of_chain(chain_id: int) -> str:
    """The subject of every event about a chain but not about a transfer."""
    return f"chain:{chain_id}"


def subject_of_route(route: RouteKey) -> str:
    return f"route:{route.src_chain_id}:{route.dst_chain_id}:{route.symbol}"


def route_of_subject(subject: str) -> RouteKey:
    """The route that :func:`subject_of_route` was called with."""
    _, src, dst, symbol = subject.split(":", 3)
    return RouteKey(symbol, ChainId(int(src)), ChainId(int(dst)))


_NUMBERS: Final = re.compile(r"([0-9]+)")


def in_block_order(event_id: str) -> tuple[str | int, ...]:
    """A sort key for ids that differ in their place in a block, with numbers by value: 2 before 10."""
    # Every second part is a number, so parts at one place are always of one type.
    return tuple(int(part) if index % 2 else part for index, part in enumerate(_NUMBERS.split(event_id)))
