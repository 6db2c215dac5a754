"""The event log, append-only and the source of every other fact, and what is noted of its entries."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, ChainIds, Hash32, Uint64, UtcTime
from app.domain.keys import BlockNumber, ChainId, TransferId

MAX_SUBJECT = 96
"""Characters of a subject: a route of two chain ids and a symbol has up to 92."""

_REORG = text("type = 'chain.reorged'")
_HEAD = text("type = 'chain.head'")
_FEE = text("type = 'fee.updated'")


class Event(Base):
    """One acceptance of one event.

    ``seq`` is the order of acceptance, which is the order of commits (one writer). ``event_id`` is
    unique within its ``subject``. An event that was retracted and comes again, or of which more is told,
    is a further ``occurrence``. Rows are never updated.
    """

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("event_id", "subject", "occurrence"),
        Index("ix_events_transfer_id_seq", "transfer_id", "seq"),
        Index("ix_events_chain_id_type_block", "chain_id", "type", "block"),
        Index("ix_events_reporter_seq", "reporter", "seq"),
        Index("ix_events_reorgs", "seq", "chain_id", sqlite_where=_REORG, postgresql_where=_REORG),
        Index("ix_events_heads", "reporter", "chain_id", "block", sqlite_where=_HEAD, postgresql_where=_HEAD),
        Index("ix_events_fees", "subject", "at", sqlite_where=_FEE, postgresql_where=_FEE),
    )

    seq: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    event_id: Mapped[str] = mapped_column(String(256))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), doc="transfer:0x…, chain:1, route:1:56:USDT")
    occurrence: Mapped[int]
    type: Mapped[str] = mapped_column(String(32))
    at: Mapped[datetime] = mapped_column(UtcTime)
    received_at: Mapped[datetime] = mapped_column(UtcTime)
    reporter: Mapped[str] = mapped_column(String(64), doc="name of the ingest token, or cli")
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32, doc="set for events about a transfer")
    chain_id: Mapped[ChainId | None] = mapped_column(Uint64, doc="set for events about a chain")
    block: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="from_block of a reorg")
    limited_to: Mapped[frozenset[int] | None] = mapped_column(
        ChainIds, doc="the chains of the reporter of an event about a transfer; NULL: all"
    )
    body: Mapped[str] = mapped_column(Text, doc="canonical JSON of every known field")


class EventAhead(Base):
    """An accepted event whose time is still to come: nothing follows from it until then."""

    __tablename__ = "events_ahead"

    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class RetractedEvent(Base):
    """An event that a standing retraction names; acceptances up to ``seq`` are retracted."""

    __tablename__ = "retracted_events"

    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, index=True, doc="of the latest standing retraction")
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32, index=True)


class RetractionTarget(Base):
    """What a retraction in the log names, whether or not that retraction stands.

    The retractions of a transfer are found by it, however many there are of others.
    """

    __tablename__ = "retraction_targets"

    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), primary_key=True)
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    seq: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, index=True, doc="of the retraction"
    )


class TransferBlock(Base):
    """The highest block that events of a transfer stand in, by chain: what a reorg may hit."""

    __tablename__ = "transfer_blocks"
    __table_args__ = (Index("ix_transfer_blocks_chain_id_highest", "chain_id", "highest"),)

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest: Mapped[BlockNumber] = mapped_column(BigInteger)


class ChainProgress(Base):
    """How far a chain has been read, as its events report."""

    __tablename__ = "chain_progress"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest_block: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    newest_at: Mapped[datetime] = mapped_column(UtcTime, doc="the newest accepted event's time")
