"""The highest blocks of transfers, what is left of pruned events, and the mark of a grown database."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    Index,
    LargeBinary,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import Hash32, Uint64, UtcTime
from app.values.identifiers import BlockNumber, ChainId, TransferId


class TransferBlock(Base):
    """The highest block that events of a transfer stand in, by chain: what a reorg may hit."""

    __tablename__ = "transfer_blocks"
    __table_args__ = (Index("ix_transfer_blocks_chain_id_highest", "chain_id", "highest"),)

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest: Mapped[BlockNumber] = mapped_column(BigInteger)


class PrunedEvent(Base):
    """An event that was accepted once and removed: reported again, it is repeated and not counted."""

    __tablename__ = "pruned_events"

    id_digest: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    subject_digest: Mapped[bytes] = mapped_column(
        LargeBinary(8), primary_key=True, doc="empty for what was pruned before ids had subjects"
    )
    content_digest: Mapped[bytes] = mapped_column(
        LargeBinary, doc="of the type and the content (domain.transfer.pruned)"
    )


class PrunedChain(Base):
    """How far pruned events show that a chain was read. No reorganisation reaches ``highest_block``: a
    deeper one is not believed."""

    __tablename__ = "pruned_chains"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest_block: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    newest_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of those that stood")


class GrownDatabase(Base):
    """A mark: transfers were made up here without events (``sandbox grow``), so the log is not the source."""

    __tablename__ = "grown_database"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, doc="always 1")
    transfers: Mapped[int] = mapped_column(BigInteger)
    grown_at: Mapped[datetime] = mapped_column(UtcTime)
