"""Changes that wait for a second person, and what became of them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, UtcTime


class Proposal(Base):
    """A proposed change (``domain.proposals``). Rows are never deleted."""

    __tablename__ = "proposals"
    __table_args__ = (Index("ix_proposals_state_expires_at", "state", "expires_at"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32), doc="how the input is read and planned")
    section: Mapped[str] = mapped_column(String(32), doc="as TWO_PERSONS names it")
    subject: Mapped[str] = mapped_column(String(256), doc="as the audit names it, such as chain 1")
    summary: Mapped[str] = mapped_column(Text, doc="the change in a sentence")
    input: Mapped[str] = mapped_column(Text, doc="JSON: what was entered, and what it was based on")
    secret: Mapped[str | None] = mapped_column(String(255), doc="a hash; null once it is decided")
    changes: Mapped[str] = mapped_column(Text, doc="canonical JSON of the rows before and after")
    reason: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), doc="a value of ProposalState")
    proposed_by: Mapped[str] = mapped_column(String(254), doc="an account's email")
    proposed_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime] = mapped_column(UtcTime)
    decided_by: Mapped[str | None] = mapped_column(String(254))
    decided_at: Mapped[datetime | None] = mapped_column(UtcTime)
    decision_reason: Mapped[str] = mapped_column(Text, doc="empty for an approval")
    record_id: Mapped[int | None] = mapped_column(BigInteger, doc="the audit record of the change made")
