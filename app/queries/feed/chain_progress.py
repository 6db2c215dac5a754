"""How far has each chain been read, and what stands in its blocks from some block on?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Row, func, select

from app.domain.keys import BlockNumber, ChainId, TransferId
from app.domain.transfer.events import EventType
from app.domain.transfer.standing import ChainReading
from app.models.choice import is_one_of
from app.models.events import ChainProgress, Event, TransferBlock
from app.models.transfers import Transfer

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


def logged_readings(connection: Connection) -> dict[ChainId, ChainReading]:
    """The newest time of each chain that the log has events about, without a block."""
    rows = connection.execute(
        select(Event.chain_id, func.max(Event.at).label("newest_at"))
        .where(Event.chain_id.is_not(None))
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
