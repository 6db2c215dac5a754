"""What operators see and acknowledge: what cannot be together, and transfers that are stuck."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, Hash32, Uint64, UtcTime
from app.domain.keys import ChainId, TransferId
from app.models.audit import ACTOR_LENGTH

NOTE_LENGTH = 500
"""Characters of a note."""


class Anomaly(Base):
    """One anomaly of one subject (``domain.anomalies.AnomalyKind``).

    It is there while it holds; one that holds again, or by further events, is open again.
    """

    __tablename__ = "anomalies"
    __table_args__ = (
        UniqueConstraint("subject", "kind"),
        Index("ix_anomalies_acknowledged_at_last_at", "acknowledged_at", "last_at"),
        Index("ix_anomalies_transfer_id", "transfer_id"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(
        String(512), doc="transfer:0x…, rotation:1:ID, pool:1:USDT, event:transfer:0x…:ID"
    )
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32)
    chain_id: Mapped[ChainId | None] = mapped_column(Uint64)
    detail: Mapped[str] = mapped_column(Text)
    event_ids: Mapped[list[str]] = mapped_column(JSON)
    first_at: Mapped[datetime] = mapped_column(UtcTime)
    last_at: Mapped[datetime] = mapped_column(UtcTime)
    acknowledged_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is open")
    acknowledged_by: Mapped[str | None] = mapped_column(String(255))


class StuckAcknowledgement(Base):
    """That an operator has seen to a transfer which stays in its state for too long, and their note.

    It holds while the transfer is in that state: once it has moved on, it counts as stuck anew. It is no
    projection: a replay leaves it. It goes when its transfer is pruned.
    """

    __tablename__ = "stuck_acknowledgements"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    status: Mapped[int] = mapped_column(doc="the state that it was seen in")
    status_since: Mapped[datetime] = mapped_column(UtcTime)
    note: Mapped[str] = mapped_column(String(NOTE_LENGTH))
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(String(ACTOR_LENGTH), doc="the account's email")
