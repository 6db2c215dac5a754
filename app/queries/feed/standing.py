"""Which reorgs, and which events about a chain, stand?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select, text, true

from app.domain.keys import BlockNumber, ChainId
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import ChainEvent
from app.domain.transfer.standing import Logged, Reorg
from app.models.events import Event, EventAhead, RetractedEvent
from app.queries.feed.codec import decode_event
from app.queries.feed.retracted import retracted_keys

PAGE = 500

IS_REORG = text("type = 'chain.reorged'")  # spelled like the partial index, so that it serves

IS_NOT_RETRACTED: Final = ~exists().where(
    RetractedEvent.event_id == Event.event_id,
    RetractedEvent.subject == Event.subject,
    RetractedEvent.seq >= Event.seq,
)
"""Of an acceptance in the log: no standing retraction names it."""


IS_NOT_AHEAD: Final = ~exists().where(EventAhead.seq == Event.seq)
"""Of an acceptance in the log: its time has come."""


class Reach(NamedTuple):
    """Events of one chain that were accepted after a position in the log, up to a block."""

    after_seq: int
    up_to_block: int


def load_reorgs(connection: Connection, reaches: Mapping[int, Reach]) -> list[Reorg]:
    """Standing reorgs that may take back events of these chains, in the order of the log.

    Those of blocks above reach none of the events: they are most of what came since, and are not read.

    :param reaches: by chain.
    """
    if not reaches:
        return []
    may_reach = (
        and_(Event.chain_id == chain_id, Event.seq > reach.after_seq, Event.block <= reach.up_to_block)
        for chain_id, reach in reaches.items()
    )
    rows = connection.execute(
        select(Event.seq, Event.chain_id, Event.block)
        .where(IS_REORG, or_(*may_reach), IS_NOT_RETRACTED)
        .order_by(Event.seq)
    )
    return [Reorg(row.seq, row.chain_id, row.block) for row in rows]


def last_reorg(connection: Connection, chain_id: ChainId) -> BlockNumber | None:
    """The first block that the chain's latest standing reorg took back."""
    return connection.scalar(
        select(Event.block)
        .where(IS_REORG, Event.chain_id == chain_id, IS_NOT_RETRACTED)
        .order_by(Event.seq.desc())
        .limit(1)
    )


def load_chain_events(
    connection: Connection, chain_id: ChainId, types: Iterable[EventType], symbol: str | None = None
) -> list[ChainEvent]:
    """The standing events of some types about one chain, in the order of the log."""
    accepted = accepted_of_chain(connection, chain_id, types)
    if symbol is not None:
        accepted = [each for each in accepted if getattr(each.event, "symbol", None) == symbol]
    return [logged.event for logged in standing_of_chain(connection, chain_id, accepted)]


def accepted_of_chain(
    connection: Connection,
    chain_id: ChainId,
    types: Iterable[EventType],
    asked: ColumnElement[bool] | None = None,
) -> list[Logged[ChainEvent]]:
    """The latest acceptance of each event of some types about one chain, in the order of the log.

    :param asked: of these alone; None: of all.
    """
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body)
        .where(Event.chain_id == chain_id, Event.type.in_([t.value for t in types]), IS_NOT_AHEAD)
        .where(true() if asked is None else asked)
        .order_by(Event.seq)
    )
    latest: dict[str, Logged[ChainEvent]] = {}
    for row in rows:
        event = cast("ChainEvent", decode_event(row.event_id, row.type, row.body))
        latest[event.id] = Logged(row.seq, event)
    return list(latest.values())


def standing_of_chain(
    connection: Connection, chain_id: ChainId, accepted: list[Logged[ChainEvent]]
) -> list[Logged[ChainEvent]]:
    """Of the latest acceptances of events about one chain those that stand."""
    if not accepted:
        return []
    blocks = [logged.event.block for logged in accepted if logged.event.block is not None]
    reorgs = []
    if blocks:
        reach = Reach(min(logged.seq for logged in accepted), max(blocks))
        reorgs = load_reorgs(connection, {chain_id: reach})
    retracted = retracted_keys(connection, dict.fromkeys(logged.event.key for logged in accepted))
    seqs = [reorg.seq for reorg in reorgs]
    # From each of them on, the lowest block that a later one reaches.
    lowest = [*accumulate((reorg.from_block for reorg in reversed(reorgs)), min)][::-1]

    def is_orphaned(logged: Logged[ChainEvent]) -> bool:
        later = bisect_right(seqs, logged.seq)
        return logged.event.block is not None and later < len(seqs) and lowest[later] <= logged.event.block

    return [
        logged
        for logged in accepted
        if logged.seq > retracted.get(logged.event.key, 0) and not is_orphaned(logged)
    ]


def highest_standing_block(connection: Connection, chain_id: ChainId, event_type: EventType) -> int | None:
    """The highest block that a standing event of this type has on the chain.

    Searched from the top, a page at a time: events that no longer stand are the exception.
    """
    offset = 0
    while True:
        rows = connection.execute(
            select(Event.seq, Event.event_id, Event.type, Event.block, Event.body)
            .where(Event.chain_id == chain_id, Event.type == event_type.value)
            .where(Event.block.is_not(None), IS_NOT_AHEAD)
            .order_by(Event.block.desc(), Event.seq.desc())
            .limit(PAGE)
            .offset(offset)
        ).all()
        accepted = [
            Logged(row.seq, cast("ChainEvent", decode_event(row.event_id, row.type, row.body)))
            for row in rows
        ]
        standing = standing_of_chain(connection, chain_id, accepted)
        blocks = [logged.event.block for logged in standing if logged.event.block is not None]
        if blocks or len(rows) < PAGE:
            return max(blocks, default=None)
        offset += PAGE
