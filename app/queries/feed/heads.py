"""Which heads of a chain that a reporter told does the log still have?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, select, text

from app.domain.keys import BlockNumber, ChainId
from app.models.events import Event
from app.models.types import UtcTime
from app.queries.feed.standing import IS_NOT_AHEAD, IS_NOT_RETRACTED

IS_HEAD: Final = text("type = 'chain.head'")  # spelled like the partial index, so that it serves


class HeadEntry(NamedTuple):
    """A head in the log."""

    block: BlockNumber
    seq: int
    at: datetime


_OF_REPORTER: Final = (
    IS_HEAD,
    Event.reporter == bindparam("reporter"),
    Event.chain_id == bindparam("chain_id"),
)
_LOWEST: Final = select(Event.block).where(*_OF_REPORTER, IS_NOT_RETRACTED).order_by(Event.block).limit(1)
_HIGHEST: Final = (
    select(Event.block, Event.seq, Event.at)
    .where(*_OF_REPORTER, IS_NOT_RETRACTED, IS_NOT_AHEAD)
    .order_by(Event.block.desc(), Event.seq.desc())
    .limit(1)
)
_SECOND: Final = select(Event.block).where(*_OF_REPORTER).order_by(Event.block.desc()).offset(1).limit(1)
OUT_OF_REACH: Final = (
    select(Event.seq)
    .where(
        *_OF_REPORTER,
        Event.block < bindparam("below"),
        Event.block < _SECOND.scalar_subquery() - bindparam("depth"),
        Event.seq < bindparam("before_seq"),
        Event.at <= bindparam("up_to", type_=UtcTime()),
    )
    .order_by(Event.block)
)
"""Positions of heads, the lowest first, within the bounds of an ``OutOfReach``."""


def lowest_head(connection: Connection, reporter: str, chain_id: ChainId) -> BlockNumber | None:
    """The lowest block of a reporter's heads of a chain that no operator retracted. One index read."""
    return connection.scalar(_LOWEST, {"reporter": reporter, "chain_id": chain_id})


def highest_head(connection: Connection, reporter: str, chain_id: ChainId) -> HeadEntry | None:
    """The highest of a reporter's heads of a chain that counts; None where there is none."""
    row = connection.execute(_HIGHEST, {"reporter": reporter, "chain_id": chain_id}).one_or_none()
    return None if row is None or row.block is None else HeadEntry(row.block, row.seq, row.at)


def who_tells_heads(connection: Connection) -> list[tuple[str, ChainId]]:
    """Each reporter with each chain of which the log has a head of it."""
    told = select(Event.reporter, Event.chain_id).where(IS_HEAD).distinct()
    return sorted((row[0], row[1]) for row in connection.execute(told) if row[1] is not None)


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A reporter's heads of a chain that are more than ``depth`` below its newest one.

    Earlier in the log and no later in time. They are also that far below the second highest of its heads: a
    single wrong one, which an operator retracts, leaves those before it.
    """

    reporter: str
    chain_id: ChainId
    newest: HeadEntry
    depth: int

    def count(self, connection: Connection) -> int:
        """How many there are."""
        return len(connection.scalars(OUT_OF_REACH, self.bounds).all())

    @property
    def bounds(self) -> dict[str, Any]:
        """The values of ``OUT_OF_REACH``."""
        return {
            "reporter": self.reporter,
            "chain_id": self.chain_id,
            "below": self.newest.block - self.depth,
            "depth": self.depth,
            "before_seq": self.newest.seq,
            "up_to": self.newest.at,
        }
