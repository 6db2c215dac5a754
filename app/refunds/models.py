"""Users' refund requests, ids that payments use up, signatures that do not count, and how long evidence
took.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Integer, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base, Projected
from app.db.types import BigId, Hash32, Uint64, UtcTime
from app.values.identifiers import ChainId, TransferId


class UserRefundRequest(Base):
    """The first request for the refund of a transfer. Who made it is not stored.

    Anybody can send it, so it is no event: as an event it would outrank a later success. It is no projection,
    so a replay does not change it. It is deleted when its transfer is pruned. ``seq``, by which reporters
    read on, must never be used twice.
    """

    __tablename__ = "refund_asks"
    __table_args__ = {"sqlite_autoincrement": True}

    seq: Mapped[int] = mapped_column(BigId, primary_key=True, doc="the order of commits")
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, unique=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    log_seq: Mapped[int | None] = mapped_column(
        BigInteger, index=True, doc="how far the log reached; NULL for requests of earlier releases"
    )


class SignatureAside(Base):
    """A quarantined ``refund.signed``: refused, because no current validator made it or too many wait for
    their request. It is logged when it becomes valid."""

    __tablename__ = "signatures_aside"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    signature: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    received_at: Mapped[datetime] = mapped_column(UtcTime)
    reporter: Mapped[str] = mapped_column(String(64))


class SignatureNotNeeded(Projected, Base):
    """An acceptance of a ``refund.signed`` whose signer has another, counting signature over the request."""

    __tablename__ = "signatures_not_needed"

    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, index=True)


class PrunedWithdraw(Base):
    """A withdraw id under which the refund of a pruned transfer was paid. The contract pays it only once."""

    __tablename__ = "pruned_withdraws"

    withdraw_id: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)


class WithdrawId(Projected, Base):
    """The withdraw id of a transfer's refund request, and whether the transfer was paid under it. The
    contract pays an id once, no matter which transfer the request refers to.
    """

    __tablename__ = "withdraw_ids"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    withdraw_id: Mapped[bytes] = mapped_column(Hash32, primary_key=True, index=True)
    paid: Mapped[bool] = mapped_column(
        doc="the contract took the refund, final or not, and by this request or one of several"
    )


class WithdrawDone(Projected, Base):
    """A withdraw id that was used up in a block, by a refund or a withdrawal of liquidity: one row for the
    canonical event that says so. The same id on another chain is another id.
    """

    __tablename__ = "withdraws_done"

    withdraw_id: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    ref_id: Mapped[TransferId | None] = mapped_column(Hash32, doc="the transfer; null for liquidity")


class EvidenceCount(Base):
    """How many refunds became claimable (status 8) within some seconds, by stage, for a histogram. Counted by
    the transaction that makes a refund claimable. It is no projection: a replay does not change it.
    """

    __tablename__ = "evidence_counts"

    stage: Mapped[str] = mapped_column(String(16), primary_key=True, doc="app.refunds.queries")
    up_to: Mapped[int] = mapped_column(
        Integer, primary_key=True, autoincrement=False, doc="seconds: the least bound that is not exceeded"
    )
    n: Mapped[int] = mapped_column(BigInteger)
    milliseconds: Mapped[int] = mapped_column(BigInteger, doc="the sum of what they took")
