"""The event log, append-only; sums of pools, fees and courses over it; what is left of pruned events."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    Index,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, ChainIds, ExactInteger, Hash32, Uint64, Uint256, UtcTime
from app.values.identifiers import BlockNumber, ChainId, TransferId

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


class PoolCounter(Base):
    """Sums of what standing events moved through one token's pool on one chain."""

    __tablename__ = "pool_counters"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    added: Mapped[int] = mapped_column(ExactInteger)
    sent: Mapped[int] = mapped_column(ExactInteger)
    relayed: Mapped[int] = mapped_column(ExactInteger)
    withdrawn: Mapped[int] = mapped_column(ExactInteger)


class PoolVolume(Base):
    """Standing pool sends by whole minute of their time: what epoch volumes are summed from."""

    __tablename__ = "pool_volumes"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    minute: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 60"
    )
    amount: Mapped[int] = mapped_column(ExactInteger)


class CourseCount(Base):
    """What became of transfers of one way that began within one span (``domain.transfer.effects.Courses``).

    Each is counted twice, in its hour and in its day of UTC, so that a month is read in as few rows as a day.
    """

    __tablename__ = "course_counts"

    hours: Mapped[int] = mapped_column(
        SmallInteger, primary_key=True, autoincrement=False, doc="length of the span: 1 or 24"
    )
    span: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 3600 // hours"
    )
    kind: Mapped[str] = mapped_column(String(8), primary_key=True, doc="SendKind; empty for a submission")
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    begun: Mapped[int] = mapped_column(BigInteger)
    completed: Mapped[int] = mapped_column(BigInteger)
    refund: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    sent: Mapped[int] = mapped_column(ExactInteger, doc="source units")
    paid_for: Mapped[int] = mapped_column(ExactInteger, doc="source units, of what was paid out")
    received: Mapped[int] = mapped_column(ExactInteger, doc="destination units")


class ReportedFee(Base):
    """The latest standing ``fee.updated`` of a route; outranks the configured base fee."""

    __tablename__ = "fed_fees"

    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    base_fee: Mapped[int] = mapped_column(Uint256, doc="destination units")
    at: Mapped[datetime] = mapped_column(UtcTime)
    event_id: Mapped[str] = mapped_column(String(256))


class PrunedTransfer(Base):
    """A finished transfer whose events were removed; nothing more is taken about it."""

    __tablename__ = "pruned_transfers"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    status: Mapped[int]


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


class PrunedWithdraw(Base):
    """A withdraw id under which the refund of a pruned transfer was paid: nothing is paid under it again."""

    __tablename__ = "pruned_withdraws"

    withdraw_id: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)


class PrunedPool(Base):
    """What pruned transfers moved through a pool: where replay starts to count from."""

    __tablename__ = "pruned_pools"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    sent: Mapped[int] = mapped_column(ExactInteger)
    relayed: Mapped[int] = mapped_column(ExactInteger)


class PrunedChain(Base):
    """How far pruned events show that a chain was read. No reorganisation reaches ``highest_block``: a
    deeper one is not believed."""

    __tablename__ = "pruned_chains"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest_block: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    newest_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of those that stood")


class PrunedReporter(Base):
    """The last of a reporter's events that were pruned: the cursor of one that has been silent since."""

    __tablename__ = "pruned_reporters"

    reporter: Mapped[str] = mapped_column(String(64), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    event_id: Mapped[str] = mapped_column(String(256))
    type: Mapped[str] = mapped_column(String(32))
    at: Mapped[datetime] = mapped_column(UtcTime)
    received_at: Mapped[datetime] = mapped_column(UtcTime, doc="the newest of all that were pruned")


class GrownDatabase(Base):
    """A mark: transfers were made up here without events (``sandbox grow``), so the log is not the source."""

    __tablename__ = "grown_database"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, doc="always 1")
    transfers: Mapped[int] = mapped_column(BigInteger)
    grown_at: Mapped[datetime] = mapped_column(UtcTime)
