"""What became of the estimates that were asked for."""

from __future__ import annotations

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base


class EstimateCount(Base):
    """How many estimates of one minute came to one end; all processes add to the same rows."""

    __tablename__ = "estimate_counts"

    minute: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 60 when they were written"
    )
    code: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, doc="ErrCode; 0 is an estimate")
    reason: Mapped[str] = mapped_column(String(32), primary_key=True, doc="Reason; empty for an estimate")
    count: Mapped[int] = mapped_column(BigInteger)
