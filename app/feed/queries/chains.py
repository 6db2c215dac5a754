"""Reads how far each chain was read, its reorganisations, events and heads in the log, and the transfers that
have a block of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, bindparam, exists, func, or_, select, text, true

from app.db.types import RowsOf, UtcTime, is_one_of
from app.feed.models import TransferBlock
from app.transfers.models import ChainProgress, Event, Transfer
from app.transfers.queries.logged import (
    FIRST,
    IS_NOT_AHEAD,
    IS_NOT_RETRACTED,
    Reach,
    load_reorgs,
    retracted_keys,
)
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import ChainEvent
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import canonical_on_chain
from app.transfers.rules.validation import LatestAcceptance
from app.values.identifiers import BlockNumber, ChainId, TransferId

PAGE = 500


def load_chain_events(connection: Connection, chain_id: ChainId, types: Iterable[str]) -> list[ChainEvent]:
    """The canonical events of some types about one chain, in the order of the log."""
    accepted = accepted_of_chain(connection, chain_id, types)
    return [logged.event for logged in canonical_of_chain(connection, chain_id, accepted)]


def accepted_of_chain(
    connection: Connection,
    chain_id: ChainId,
    types: Iterable[str],
    condition: ColumnElement[bool] | None = None,
) -> list[Logged[ChainEvent]]:
    """The latest acceptance of each event of some types about one chain, in the order of the log.

    :param condition: only events that meet it.
    """
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body, FIRST)
        .where(Event.chain_id == chain_id, Event.type.in_(list(types)), IS_NOT_AHEAD)
        .where(true() if condition is None else condition)
        .order_by(Event.seq)
    )
    latest: dict[str, Logged[ChainEvent]] = {}
    for row in rows:
        event = cast("ChainEvent", decode_event(row.event_id, row.type, row.body))
        latest[event.id] = Logged(row.seq, event, first=row.first)
    return list(latest.values())


def canonical_of_chain(
    connection: Connection, chain_id: ChainId, accepted: list[Logged[ChainEvent]], before: int | None = None
) -> list[Logged[ChainEvent]]:
    """The canonical ones of the latest acceptances of events about one chain.

    :param before: those that no reorg removed before this position of the log.
    """
    if not accepted:
        return []
    blocks = [logged.event.block for logged in accepted if logged.event.block is not None]
    reorgs = []
    if blocks:
        reach = Reach(min(logged.seq for logged in accepted), max(blocks))
        reorgs = load_reorgs(connection, {chain_id: reach})
    reorgs = [reorg for reorg in reorgs if before is None or reorg.seq < before]
    retracted = retracted_keys(connection, dict.fromkeys(logged.event.key for logged in accepted))
    return canonical_on_chain(chain_id, accepted, reorgs, retracted)


def orphaned_keys(connection: Connection, latest: Iterable[LatestAcceptance]) -> set[EventKey]:
    """The keys of events about chains whose latest acceptance is not canonical."""
    of_chain: dict[ChainId, list[Logged[ChainEvent]]] = defaultdict(list)
    for each in latest:
        if isinstance(event := each.event, ChainEvent):
            of_chain[event.chain_id].append(Logged(each.seq, event, first=each.first))
    gone: set[EventKey] = set()
    for chain_id, accepted in of_chain.items():
        canonical = {logged.event.key for logged in canonical_of_chain(connection, chain_id, accepted)}
        gone |= {logged.event.key for logged in accepted} - canonical
    return gone


def highest_canonical_block(connection: Connection, chain_id: ChainId, event_type: str) -> int | None:
    """The highest block that a canonical event of this type has on the chain.

    Searched from the top, a page at a time: events that are not canonical are rare.
    """
    offset = 0
    while True:
        rows = connection.execute(
            select(Event.seq, Event.event_id, Event.type, Event.block, Event.body, FIRST)
            .where(Event.chain_id == chain_id, Event.type == event_type)
            .where(Event.block.is_not(None), IS_NOT_AHEAD)
            .order_by(Event.block.desc(), Event.seq.desc())
            .limit(PAGE)
            .offset(offset)
        ).all()
        accepted = [
            Logged(
                row.seq, cast("ChainEvent", decode_event(row.event_id, row.type, row.body)), first=row.first
            )
            for row in rows
        ]
        canonical = canonical_of_chain(connection, chain_id, accepted)
        blocks = [logged.event.block for logged in canonical if logged.event.block is not None]
        if blocks or len(rows) < PAGE:
            return max(blocks, default=None)
        offset += PAGE


HEADS = 100

_PROGRESS: Final = RowsOf(select(ChainProgress.__table__), chain_ids=ChainProgress.chain_id)


def load_progress(connection: Connection, chain_ids: Collection[ChainId]) -> dict[ChainId, ChainReading]:
    """How far chains were read; those that were never read are left out."""
    rows = _PROGRESS(connection, chain_ids=chain_ids)
    return {ChainId(row.chain_id): ChainReading(row.highest_block, row.newest_at) for row in rows}


def transfers_by_block(
    connection: Connection, chain_id: ChainId, above: BlockNumber | None, offset: int
) -> Sequence[Row[TransferId, BlockNumber]]:
    """A page of the transfers, of known sends, with events above a block of the chain, and the highest block,
    descending.

    :param above: None: any block.
    """
    seen = select(TransferBlock.transfer_id, TransferBlock.highest).where(TransferBlock.chain_id == chain_id)
    if above is not None:
        seen = seen.where(TransferBlock.highest > above)
    return connection.execute(
        seen.join(Transfer, Transfer.transfer_id == TransferBlock.transfer_id)
        .where(Transfer.kind.is_not(None))
        .order_by(TransferBlock.highest.desc(), TransferBlock.transfer_id)
        .limit(HEADS)
        .offset(offset)
    ).all()


def newest_change(connection: Connection, transfer_ids: Collection[bytes]) -> datetime | None:
    return connection.scalar(
        select(func.max(Transfer.updated_at)).where(is_one_of(connection, Transfer.transfer_id, transfer_ids))
    )


def transfers_by_update(
    connection: Connection, chain_id: ChainId, since: datetime | None, offset: int
) -> Sequence[Row[TransferId, datetime]]:
    """A page of the transfers, of known sends, on the chain that changed after a time, or at any, the last
    changed first.
    """
    on_chain = exists().where(
        TransferBlock.transfer_id == Transfer.transfer_id, TransferBlock.chain_id == chain_id
    )
    changed = select(Transfer.transfer_id, Transfer.updated_at).where(
        Transfer.kind.is_not(None),
        or_(Transfer.src_chain_id == chain_id, Transfer.dst_chain_id == chain_id, on_chain),
    )
    if since is not None:
        changed = changed.where(Transfer.updated_at > since)
    newest = (Transfer.updated_at.desc(), Transfer.transfer_id)
    return connection.execute(changed.order_by(*newest).limit(HEADS).offset(offset)).all()


def logged_readings(connection: Connection, chain_id: ChainId | None = None) -> dict[ChainId, ChainReading]:
    """The newest time of the events that no operator retracted, of each chain or of one. Without a block."""
    of_chain = Event.chain_id.is_not(None) if chain_id is None else Event.chain_id == chain_id
    rows = connection.execute(
        select(Event.chain_id, func.max(Event.at).label("newest_at"))
        .where(of_chain, IS_NOT_RETRACTED, IS_NOT_AHEAD)
        .group_by(Event.chain_id)
    )
    return {ChainId(row.chain_id): ChainReading(None, row.newest_at) for row in rows}


def is_reported_from_block(connection: Connection, chain_id: ChainId, block: int, event_type: str) -> bool:
    found = select(Event.seq).where(
        Event.chain_id == chain_id, Event.type == event_type, Event.block >= block
    )
    return connection.scalar(found.limit(1)) is not None


def transfers_from_block(connection: Connection, chain_id: ChainId, block: int) -> Sequence[bytes]:
    return connection.scalars(
        select(TransferBlock.transfer_id).where(
            TransferBlock.chain_id == chain_id, TransferBlock.highest >= block
        )
    ).all()


def chains_of_transfers(connection: Connection, transfer_ids: Collection[bytes]) -> set[ChainId]:
    """The known chains of the transfers, sources and destinations."""
    both = select(Transfer.src_chain_id, Transfer.dst_chain_id).where(Transfer.transfer_id.in_(transfer_ids))
    return {chain_id for row in connection.execute(both) for chain_id in row if chain_id is not None}


IS_HEAD: Final = text("type = 'chain.head'")  # spelled like the partial index, so that it serves


class HeadEntry(NamedTuple):
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
    """The highest of a reporter's heads of a chain that counts; None where none does."""
    row = connection.execute(_HIGHEST, {"reporter": reporter, "chain_id": chain_id}).one_or_none()
    return None if row is None or row.block is None else HeadEntry(row.block, row.seq, row.at)


def who_reports_heads(connection: Connection) -> list[tuple[str, ChainId]]:
    pairs = select(Event.reporter, Event.chain_id).where(IS_HEAD).distinct()
    return sorted((row[0], row[1]) for row in connection.execute(pairs) if row[1] is not None)


class OutOfReach(Struct, frozen=True):
    """A reporter's heads of a chain that are more than ``depth`` below its newest one.

    They are earlier in the log and no later in time. They are also that far below the second highest of its
    heads: so a single wrong head, which an operator retracts, does not remove those before it.
    """

    reporter: str
    chain_id: ChainId
    newest: HeadEntry
    depth: int

    def count(self, connection: Connection) -> int:
        return len(connection.scalars(OUT_OF_REACH, self.bounds).all())

    @property
    def bounds(self) -> dict[str, Any]:
        return {
            "reporter": self.reporter,
            "chain_id": self.chain_id,
            "below": self.newest.block - self.depth,
            "depth": self.depth,
            "before_seq": self.newest.seq,
            "up_to": self.newest.at,
        }
