"""What is left of events that an operator pruned: sums, and enough to know them again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import ExactInteger, Hash32, Uint64, UtcTime
from app.domain.keys import BlockNumber, ChainId, TransferId


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
