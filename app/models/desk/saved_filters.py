"""Filters of lists that operators keep under a name."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.extensions import Base
from app.models.types import BigId, UtcTime

NAME_LENGTH = 60
QUERY_LENGTH = 1000


class SavedFilter(Base):
    """One account's filter of the list of transfers, for this account alone."""

    __tablename__ = "saved_filters"
    __table_args__ = (UniqueConstraint("operator_id", "name"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    query: Mapped[str] = mapped_column(String(QUERY_LENGTH), doc="fields of the list as its URL has them")
    saved_at: Mapped[datetime] = mapped_column(UtcTime)
