"""Event objects of the feed in made-up blocks: every chain of the sandbox mines at a steady pace.

A block depends only on chain and time. So events about the same block agree on its number and hash, blocks
grow with time, and an event that is made twice is the same event.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from msgspec import Struct

from app.values.crypto import keccak256

_GENESIS: Final = datetime(2025, 1, 1, tzinfo=UTC)


class Pace(Struct, frozen=True):
    """How a chain mines: its height at the start of 2025 (about the real one), then one block a period."""

    height: int
    period: timedelta


class Block(Struct, frozen=True):
    """A block: its number, its 0x hash (of no real block) and the moment from which it is the newest."""

    number: int
    hash: str
    mined_at: datetime


def _pace(height: int, milliseconds: int) -> Pace:
    return Pace(height, timedelta(milliseconds=milliseconds))


PACES: Final = {
    1: _pace(21_525_000, 12_000),
    10: _pace(130_000_000, 2_000),
    56: _pace(45_400_000, 3_000),
    128: _pace(40_000_000, 3_000),
    137: _pace(66_160_000, 2_100),
    250: _pace(101_000_000, 1_000),
    336: _pace(8_300_000, 12_000),
    592: _pace(7_800_000, 6_000),
    8453: _pace(24_500_000, 2_000),
    42161: _pace(290_600_000, 250),
    43114: _pace(55_000_000, 2_000),
}


def block_at(chain_id: int, at: datetime) -> Block:
    """The newest block of the chain at a moment.

    :raises KeyError: the chain is none of the sandbox.
    """
    pace = PACES[chain_id]
    periods = (at - _GENESIS) // pace.period
    number = pace.height + periods
    digest = keccak256(f"sandbox block {chain_id} {number}".encode())
    return Block(number, f"0x{digest.hex()}", _GENESIS + periods * pace.period)


def time_to_depth(chain_id: int, blocks: int) -> timedelta:
    return PACES[chain_id].period * blocks


Event: TypeAlias = dict[str, object]


def event(kind: str, about: str, at: datetime, /, **fields: object) -> Event:
    """:param about: makes the id unique within the type ``kind``."""
    return {
        "id": f"sandbox:{kind}:{about}",
        "type": kind,
        "at": at.isoformat(timespec="microseconds"),
        **fields,
    }


def block_event(kind: str, about: str, at: datetime, where: int, /, **fields: object) -> Event:
    """An event of the newest block that chain ``where`` had at ``at``.

    Its id has the first digits of the block's hash, as with every reporter of block events.
    """
    block = block_at(where, at)
    return event(kind, f"{about}:{block.hash[:18]}", at, **fields, block=block.number, block_hash=block.hash)
