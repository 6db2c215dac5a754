"""Refunds that users requested, and signatures that count for no refund yet."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, Hash32, UtcTime
from app.values.identifiers import TransferId


class RefundAsk(Base):
    """One ask for the refund of a transfer, of the first who asked. Who that was is not kept.

    It is no projection: a replay leaves it. It goes when its transfer is pruned, so ``seq``, by which
    reporters read on, must never be given twice.
    """

    __tablename__ = "refund_asks"
    __table_args__ = {"sqlite_autoincrement": True}

    seq: Mapped[int] = mapped_column(BigId, primary_key=True, doc="the order of commits")
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, unique=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    log_seq: Mapped[int | None] = mapped_column(
        BigInteger, index=True, doc="how far the log reached; NULL for asks of earlier releases"
    )


class SignatureAside(Base):
    """A ``refund.signed`` that was refused and may turn out right: by no current validator, or one too many
    that waits for its request. It is taken into the log when it does."""

    __tablename__ = "signatures_aside"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    signature: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    received_at: Mapped[datetime] = mapped_column(UtcTime)
    reporter: Mapped[str] = mapped_column(String(64))


class SignatureNotNeeded(Base):
    """An acceptance of a ``refund.signed`` whose signer signed the same request by another that counts."""

    __tablename__ = "signatures_not_needed"

    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, index=True)
