"""Asks for refunds: what users want, apart from what the network and the chains report."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, Hash32, UtcTime
from app.domain.keys import TransferId


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
