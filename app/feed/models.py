"""The highest blocks of transfers, the journal of their statuses, what is left of pruned events, and the mark
of a grown database."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base, Projected
from app.db.types import Accounts, Hash32, Uint64, UtcTime
from app.values.identifiers import BlockNumber, ChainId, TransferId


class TransferBlock(Projected, Base):
    """The highest block of a transfer's events, by chain: what a reorg may reach."""

    __tablename__ = "transfer_blocks"
    __table_args__ = (Index("ix_transfer_blocks_chain_id_highest", "chain_id", "highest"),)

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest: Mapped[BlockNumber] = mapped_column(BigInteger)


_RELISTED = text("accounts_before IS NOT NULL")


class JournalRow(Base):
    """A change of the facts that a transfer's answer rests on, written in the transaction of its cause.

    ``sequence`` is the order of commits (one writer). What only alters how an answer is shown, such as the
    URL of an explorer or a block delay, writes no row for each transfer: caches of answers follow the version
    of the network as well. It is no projection: a replay does not change it. Pruning its transfer deletes it.

    A row without a transfer says where the journal begins, if not with the log: ``seq`` is how far that
    reached. It gets the next ``sequence`` where transfers change without rows of their own: they are pruned,
    or repaired by a replay. So no number is given twice, and caches drop all answers.
    """

    __tablename__ = "status_changes"
    __table_args__ = (
        Index("ix_status_changes_transfer_id_sequence", "transfer_id", "sequence"),
        Index("ix_status_changes_seq", "seq"),
        Index("ix_status_changes_relisted", "seq", sqlite_where=_RELISTED, postgresql_where=_RELISTED),
    )

    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32)
    seq: Mapped[int] = mapped_column(BigInteger, doc="of the entry of the log that it follows from")
    is_later: Mapped[bool] = mapped_column(doc="it came later than that entry, and another way")
    status: Mapped[int] = mapped_column(SmallInteger)
    previous_status: Mapped[int] = mapped_column(SmallInteger, doc="0 where the transfer was not known")
    refund_reason: Mapped[int] = mapped_column(SmallInteger)
    taken_back: Mapped[bool] = mapped_column(doc="what the previous status rested on holds no more")
    at: Mapped[datetime] = mapped_column(UtcTime, doc="when the gateway learned of it")
    accounts_before: Mapped[frozenset[str] | None] = mapped_column(
        Accounts, doc="account keys that a known transfer was listed under until then; null: the same as now"
    )


class PrunedEvent(Base):
    """An event that was accepted once and removed: reported again, it is repeated and not counted."""

    __tablename__ = "pruned_events"

    id_digest: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    subject_digest: Mapped[bytes] = mapped_column(
        LargeBinary(8), primary_key=True, doc="empty for what was pruned before ids had subjects"
    )
    content_digest: Mapped[bytes] = mapped_column(
        LargeBinary, doc="of the type and the content (app.transfers.rules.events.merging)"
    )


class PrunedChain(Base):
    """How far a chain was read, as pruned events show. A reorganisation that reaches ``highest_block`` is
    refused."""

    __tablename__ = "pruned_chains"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest_block: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    newest_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of the canonical ones")


class GrownDatabase(Base):
    """A mark that this database has made-up transfers without events (``sandbox grow``)."""

    __tablename__ = "grown_database"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, doc="always 1")
    transfers: Mapped[int] = mapped_column(BigInteger)
    grown_at: Mapped[datetime] = mapped_column(UtcTime)
