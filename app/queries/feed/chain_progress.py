"""How far has each chain been read, and what stands in its blocks from some block on?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, Row, exists, func, or_, select

from app.domain.keys import BlockNumber, ChainId, TransferId
from app.domain.transfer.event_types import EventType
from app.domain.transfer.standing import ChainReading
from app.models.choice import is_one_of
from app.models.events import ChainProgress, Event, TransferBlock
from app.models.transfers import Transfer
from app.queries.feed.standing import IS_NOT_AHEAD, IS_NOT_RETRACTED

PAGE = 100


def load_progress(connection: Connection, chain_ids: Collection[ChainId]) -> dict[ChainId, ChainReading]:
    """How far those of the chains were read that were read at all."""
    rows = connection.execute(
        select(ChainProgress.__table__).where(is_one_of(connection, ChainProgress.chain_id, chain_ids))
    )
    return {ChainId(row.chain_id): ChainReading(row.highest_block, row.newest_at) for row in rows}


def transfers_by_block(
    connection: Connection, chain_id: ChainId, above: BlockNumber | None, offset: int
) -> Sequence[Row[TransferId, BlockNumber]]:
    """A page of the transfers that were seen above a block of the chain, with their highest, descending.

    Those whose send is known; None: all of these.
    """
    seen = select(TransferBlock.transfer_id, TransferBlock.highest).where(TransferBlock.chain_id == chain_id)
    if above is not None:
        seen = seen.where(TransferBlock.highest > above)
    return connection.execute(
        seen.join(Transfer, Transfer.transfer_id == TransferBlock.transfer_id)
        .where(Transfer.kind.is_not(None))
        .order_by(TransferBlock.highest.desc(), TransferBlock.transfer_id)
        .limit(PAGE)
        .offset(offset)
    ).all()


def transfers_by_update(
    connection: Connection, chain_id: ChainId, since: datetime | None, offset: int
) -> Sequence[Row[TransferId, datetime]]:
    """A page of the transfers on the chain that changed after a time, or ever, the last changed first.

    Those whose send is known.
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
    return connection.execute(changed.order_by(*newest).limit(PAGE).offset(offset)).all()


def logged_readings(connection: Connection, chain_id: ChainId | None = None) -> dict[ChainId, ChainReading]:
    """The newest time of each chain, or of one, that the log has events about that no operator retracted.

    Without a block.
    """
    of_chain = Event.chain_id.is_not(None) if chain_id is None else Event.chain_id == chain_id
    rows = connection.execute(
        select(Event.chain_id, func.max(Event.at).label("newest_at"))
        .where(of_chain, IS_NOT_RETRACTED, IS_NOT_AHEAD)
        .group_by(Event.chain_id)
    )
    return {ChainId(row.chain_id): ChainReading(None, row.newest_at) for row in rows}


def is_told_from_block(connection: Connection, chain_id: ChainId, block: int, event_type: EventType) -> bool:
    """Whether the log has an event of the type about the chain at this block or above."""
    found = select(Event.seq).where(
        Event.chain_id == chain_id, Event.type == event_type.value, Event.block >= block
    )
    return connection.scalar(found.limit(1)) is not None


def transfers_from_block(connection: Connection, chain_id: ChainId, block: int) -> Sequence[bytes]:
    """The transfers that have an event in this block of the chain or above."""
    return connection.scalars(
        select(TransferBlock.transfer_id).where(
            TransferBlock.chain_id == chain_id, TransferBlock.highest >= block
        )
    ).all()


def chains_of_transfers(connection: Connection, transfer_ids: Collection[bytes]) -> set[ChainId]:
    """Both chains of each of the transfers, as far as they are known."""
    both = select(Transfer.src_chain_id, Transfer.dst_chain_id).where(Transfer.transfer_id.in_(transfer_ids))
    return {chain_id for row in connection.execute(both) for chain_id in row if chain_id is not None}
