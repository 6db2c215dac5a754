"""Reading and appending the event log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import cast

from sqlalchemy import Connection, func, insert, select, text

from app.domain.keys import ChainId, TransferId
from app.domain.transfer.events import ChainEvent, ChainReorged, Event, EventType, TransferEvent, TransferSent
from app.domain.transfer.standing import Logged, Reorg, origin_of
from app.domain.transfer.state import TransferHistory
from app.models import events as log
from app.services.feed.codec import decode_event
from app.services.feed.pruned import last_pruned_seq

PAGE = 500

MOST_IN_STATEMENT = 10_000
"""Values named in one statement: SQLite takes 32,766, PostgreSQL 65,535."""


@dataclass(frozen=True, slots=True)
class Known:
    """The latest acceptance of an id that is in the log."""

    seq: int
    occurrence: int
    type: str
    body: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One acceptance to be appended."""

    seq: int
    occurrence: int
    event: Event
    body: str


def last_seq(connection: Connection) -> int:
    """The place of the newest acceptance there ever was; 0 in a log that was always empty."""
    newest = connection.scalar(select(func.max(log.Event.seq))) or 0
    return max(newest, last_pruned_seq(connection))


def known_ids(connection: Connection, ids: Iterable[str]) -> dict[str, Known]:
    """The latest acceptance of each of the ids that are in the log."""
    rows = connection.execute(
        select(log.Event.event_id, log.Event.seq, log.Event.occurrence, log.Event.type, log.Event.body)
        .where(log.Event.event_id.in_(list(ids)))
        .order_by(log.Event.seq)
    )
    return {row.event_id: Known(row.seq, row.occurrence, row.type, row.body) for row in rows}


def append(connection: Connection, entries: Iterable[Entry], reporter: str, received_at: datetime) -> None:
    """Write acceptances to the end of the log."""
    rows = [
        {
            "seq": entry.seq,
            "event_id": entry.event.id,
            "occurrence": entry.occurrence,
            "type": entry.event.type.value,
            "at": entry.event.at,
            "received_at": received_at,
            "reporter": reporter,
            "transfer_id": getattr(entry.event, "transfer_id", None),
            "chain_id": getattr(entry.event, "chain_id", None),
            "block": _block(entry.event),
            "body": entry.body,
        }
        for entry in entries
    ]
    if rows:
        connection.execute(insert(log.Event), rows)


def _block(event: Event) -> int | None:
    if isinstance(event, ChainReorged):
        return event.from_block
    return getattr(event, "block", None)


def load_histories(connection: Connection, transfer_ids: Iterable[bytes]) -> dict[bytes, TransferHistory]:
    """The whole log of each transfer, with the reorgs that may reach it; empty for unknown ones."""
    ids = set(transfer_ids)
    logs: dict[bytes, list[Logged[TransferEvent]]] = {transfer_id: [] for transfer_id in ids}
    rows = connection.execute(
        select(log.Event.seq, log.Event.transfer_id, log.Event.event_id, log.Event.type, log.Event.body)
        .where(log.Event.transfer_id.in_(ids))
        .order_by(log.Event.seq)
    )
    for row in rows:
        event = cast("TransferEvent", decode_event(row.event_id, row.type, row.body))
        logs[row.transfer_id].append(Logged(row.seq, event))
    reorgs = _reorgs_reaching(connection, logs)
    retracted = _retracted_of_transfers(connection, ids)
    return {
        transfer_id: TransferHistory(
            TransferId(transfer_id), events, reorgs[transfer_id], retracted[transfer_id]
        )
        for transfer_id, events in logs.items()
    }


def _retracted_of_transfers(connection: Connection, ids: set[bytes]) -> dict[bytes, dict[str, int]]:
    retracted: dict[bytes, dict[str, int]] = defaultdict(dict)
    table = log.RetractedEvent
    rows = connection.execute(
        select(table.transfer_id, table.event_id, table.seq).where(table.transfer_id.in_(ids))
    )
    for row in rows:
        retracted[row.transfer_id][row.event_id] = row.seq
    return retracted


def retracted_ids(connection: Connection, event_ids: Iterable[str]) -> dict[str, int]:
    """Of these ids those that a standing retraction names, and its place in the log."""
    table, rest = log.RetractedEvent, iter(event_ids)
    found: dict[str, int] = {}
    while asked := list(islice(rest, MOST_IN_STATEMENT)):
        rows = connection.execute(select(table.event_id, table.seq).where(table.event_id.in_(asked)))
        found |= {row.event_id: row.seq for row in rows}
    return found


def _reorgs_reaching(
    connection: Connection, logs: dict[bytes, list[Logged[TransferEvent]]]
) -> dict[bytes, list[Reorg]]:
    chains: dict[bytes, set[int]] = {}
    first_seq: dict[int, int] = {}
    for transfer_id, events in logs.items():
        chains[transfer_id] = _chains_of(events)
        for chain_id in chains[transfer_id]:
            first_seq[chain_id] = min(events[0].seq, first_seq.get(chain_id, events[0].seq))
    by_chain: dict[int, list[Reorg]] = defaultdict(list)
    if first_seq:
        for reorg in load_reorgs(connection, set(first_seq), min(first_seq.values())):
            by_chain[reorg.chain_id].append(reorg)
    return {
        transfer_id: [
            reorg
            for chain_id in sorted(chains[transfer_id])
            for reorg in by_chain[chain_id]
            if reorg.seq > events[0].seq
        ]
        for transfer_id, events in logs.items()
    }


def _chains_of(events: list[Logged[TransferEvent]]) -> set[int]:
    """The chains whose reorgs may reach one of the events."""
    origin = origin_of(logged.event for logged in events)
    sent_from = {logged.event.src_chain_id for logged in events if isinstance(logged.event, TransferSent)}
    return sent_from | {chain for chain in (origin.src_chain_id, origin.dst_chain_id) if chain is not None}


_IS_REORG = text("type = 'chain.reorged'")  # spelled like the partial index, so that it serves


def last_taking_back(connection: Connection) -> int:
    """The place of the newest reorg or retraction; what was accepted later stands."""
    reorg = connection.scalar(select(func.max(log.Event.seq)).where(_IS_REORG)) or 0
    retraction = connection.scalar(select(func.max(log.RetractedEvent.seq))) or 0
    return max(reorg, retraction)


def load_reorgs(connection: Connection, chain_ids: set[int], after_seq: int) -> list[Reorg]:
    """Standing reorgs of the chains accepted after a place in the log."""
    rows = connection.execute(
        select(log.Event.seq, log.Event.event_id, log.Event.chain_id, log.Event.block)
        .where(_IS_REORG, log.Event.chain_id.in_(chain_ids), log.Event.seq > after_seq)
        .order_by(log.Event.seq)
    ).all()
    retracted = retracted_ids(connection, {row.event_id for row in rows}) if rows else {}
    return [
        Reorg(row.seq, row.chain_id, row.block) for row in rows if row.seq > retracted.get(row.event_id, 0)
    ]


def load_chain_events(
    connection: Connection, chain_id: int, types: Iterable[EventType], symbol: str | None = None
) -> list[ChainEvent]:
    """The standing events of some types about one chain, in the order of the log."""
    rows = connection.execute(
        select(log.Event.seq, log.Event.event_id, log.Event.type, log.Event.body)
        .where(log.Event.chain_id == chain_id, log.Event.type.in_([t.value for t in types]))
        .order_by(log.Event.seq)
    )
    latest: dict[str, Logged[ChainEvent]] = {}
    for row in rows:
        event = cast("ChainEvent", decode_event(row.event_id, row.type, row.body))
        if symbol is None or getattr(event, "symbol", None) == symbol:
            latest[event.id] = Logged(row.seq, event)
    return [logged.event for logged in standing_of_chain(connection, chain_id, list(latest.values()))]


def standing_of_chain(
    connection: Connection, chain_id: int, accepted: list[Logged[ChainEvent]]
) -> list[Logged[ChainEvent]]:
    """Of the latest acceptances of events about one chain those that stand."""
    if not accepted:
        return []
    reorgs = load_reorgs(connection, {chain_id}, min(logged.seq for logged in accepted))
    retracted = retracted_ids(connection, (logged.event.id for logged in accepted))
    return [
        logged
        for logged in accepted
        if logged.seq > retracted.get(logged.event.id, 0)
        and not any(reorg.reaches(ChainId(chain_id), logged.event.block, logged.seq) for reorg in reorgs)
    ]


def highest_standing_block(connection: Connection, chain_id: int, event_type: EventType) -> int | None:
    """The highest block that a standing event of this type has on the chain.

    Looked for from the top, a page at a time: events that were taken back are the exception.
    """
    offset = 0
    while True:
        rows = connection.execute(
            select(log.Event.seq, log.Event.event_id, log.Event.type, log.Event.block, log.Event.body)
            .where(log.Event.chain_id == chain_id, log.Event.type == event_type.value)
            .where(log.Event.block.is_not(None))
            .order_by(log.Event.block.desc(), log.Event.seq.desc())
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
