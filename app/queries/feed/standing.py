"""Which reorgs, and which events about a chain, stand?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import cast

from sqlalchemy import Connection, select, text

from app.domain.keys import ChainId
from app.domain.transfer.events import ChainEvent, EventType
from app.domain.transfer.standing import Logged, Reorg
from app.domain.transfer.subjects import EventKey, subject_of_chain
from app.models.choice import is_one_of
from app.models.events import Event
from app.queries.feed.codec import decode_event
from app.queries.feed.retracted import retracted_keys

PAGE = 500

IS_REORG = text("type = 'chain.reorged'")  # spelled like the partial index, so that it serves


def load_reorgs(connection: Connection, chain_ids: Collection[int], after_seq: int) -> list[Reorg]:
    """Standing reorgs of the chains that were accepted after a position in the log."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.chain_id, Event.block)
        .where(IS_REORG, is_one_of(connection, Event.chain_id, chain_ids), Event.seq > after_seq)
        .order_by(Event.seq)
    ).all()
    keys = [EventKey(subject_of_chain(row.chain_id), row.event_id) for row in rows]
    retracted = retracted_keys(connection, dict.fromkeys(keys))
    return [
        Reorg(row.seq, row.chain_id, row.block)
        for key, row in zip(keys, rows, strict=True)
        if row.seq > retracted.get(key, 0)
    ]


def load_chain_events(
    connection: Connection, chain_id: ChainId, types: Iterable[EventType], symbol: str | None = None
) -> list[ChainEvent]:
    """The standing events of some types about one chain, in the order of the log."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body)
        .where(Event.chain_id == chain_id, Event.type.in_([t.value for t in types]))
        .order_by(Event.seq)
    )
    latest: dict[str, Logged[ChainEvent]] = {}
    for row in rows:
        event = cast("ChainEvent", decode_event(row.event_id, row.type, row.body))
        if symbol is None or getattr(event, "symbol", None) == symbol:
            latest[event.id] = Logged(row.seq, event)
    return [logged.event for logged in standing_of_chain(connection, chain_id, list(latest.values()))]


def standing_of_chain(
    connection: Connection, chain_id: ChainId, accepted: list[Logged[ChainEvent]]
) -> list[Logged[ChainEvent]]:
    """Of the latest acceptances of events about one chain those that stand."""
    if not accepted:
        return []
    reorgs = load_reorgs(connection, {chain_id}, min(logged.seq for logged in accepted))
    retracted = retracted_keys(connection, dict.fromkeys(logged.event.key for logged in accepted))
    return [
        logged
        for logged in accepted
        if logged.seq > retracted.get(logged.event.key, 0)
        and not any(reorg.reaches(chain_id, logged.event.block, logged.seq) for reorg in reorgs)
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
            .where(Event.block.is_not(None))
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
