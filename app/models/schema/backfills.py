"""How far each backfill has come (docs/decisions/0052-migrations-under-load.md)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.extensions import Base
from app.models.types import UtcTime


class BackfillProgress(Base):
    """Written in the transaction that writes the rows of a range: neither is there without the other."""

    __tablename__ = "backfills"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    done_to: Mapped[bytes] = mapped_column(LargeBinary, doc="the last key that was looked at; empty at first")
    looked_at: Mapped[int] = mapped_column(BigInteger, doc="rows")
    changed: Mapped[int] = mapped_column(BigInteger, doc="rows")
    moved_at: Mapped[datetime] = mapped_column(UtcTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="none while there are further rows")
