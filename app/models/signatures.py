"""Signatures of refunds that are not folded: those that nobody current made, and those not needed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import Hash32, UtcTime
from app.domain.keys import TransferId


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
