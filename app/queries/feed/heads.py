"""Which heads of a chain that a reporter told does the log still have?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, select, text

from app.domain.keys import BlockNumber, ChainId
from app.models.events import Event
from app.queries.feed.standing import IS_NOT_AHEAD, IS_NOT_RETRACTED

IS_HEAD: Final = text("type = 'chain.head'")  # spelled like the partial index, so that it serves


class HeadEntry(NamedTuple):
    """A head in the log."""

    block: BlockNumber
    seq: int
    at: datetime


def lowest_head(connection: Connection, reporter: str, chain_id: ChainId) -> BlockNumber | None:
    """The lowest block of a reporter's heads of a chain that no operator retracted. One index read."""
    of_reporter = Event.reporter == reporter, Event.chain_id == chain_id
    query = select(Event.block).where(IS_HEAD, *of_reporter, IS_NOT_RETRACTED)
    return connection.scalar(query.order_by(Event.block).limit(1))


def heads_below(reporter: str, chain_id: ChainId, newest: HeadEntry, depth: int) -> Select[Any]:
    """Positions of a reporter's heads of a chain that are more than ``depth`` below its newest one.

    Earlier in the log and no later in time. They are also that far below the second highest of its heads: a
    single wrong one, which an operator retracts, leaves those before it. The lowest come first.
    """
    of_reporter = IS_HEAD, Event.reporter == reporter, Event.chain_id == chain_id
    second = select(Event.block).where(*of_reporter).order_by(Event.block.desc()).offset(1).limit(1)
    below = Event.block < newest.block - depth, Event.block < second.scalar_subquery() - depth
    query = select(Event.seq).where(*of_reporter, *below, Event.seq < newest.seq, Event.at <= newest.at)
    return query.order_by(Event.block)


def newest_heads(connection: Connection) -> Iterator[tuple[str, ChainId, HeadEntry]]:
    """By reporter and chain the highest head that counts: its position, block and time."""
    told = select(Event.reporter, Event.chain_id).where(IS_HEAD).distinct()
    for reporter, chain_id in connection.execute(told).all():
        of_reporter = IS_HEAD, Event.reporter == reporter, Event.chain_id == chain_id
        highest = select(Event.block, Event.seq, Event.at).where(*of_reporter, IS_NOT_RETRACTED, IS_NOT_AHEAD)
        row = connection.execute(highest.order_by(Event.block.desc(), Event.seq.desc()).limit(1)).first()
        if row is not None and row.block is not None and chain_id is not None:
            yield reporter, chain_id, HeadEntry(row.block, row.seq, row.at)
