"""Notes on transfers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.keys import TransferId
from app.extensions import Base
from app.models.types import BigId, Hash32, UtcTime

NOTE_LENGTH = 2000


class TransferNote(Base):
    """What an operator wrote down about a transfer. It changes no answer.

    It is no projection: a replay leaves it. It goes when its transfer is pruned.
    """

    __tablename__ = "transfer_notes"
    __table_args__ = (Index("ix_transfer_notes_transfer_id", "transfer_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"), doc="who wrote it")
    at: Mapped[datetime] = mapped_column(UtcTime)
    text: Mapped[str] = mapped_column(String(NOTE_LENGTH))
