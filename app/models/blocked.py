"""Who gets no estimate: addresses and networks."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.extensions import Base
from app.models.types import Address, BigId, UtcTime


class BlockedAddress(Base):
    """An account flagged as a security risk. Compared without regard to letter case."""

    __tablename__ = "blocked_addresses"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    address: Mapped[str] = mapped_column(Address(), unique=True)
    reason: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    source: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is never")


class BlockedNetwork(Base):
    """A range of caller addresses, such as a VPN's exits."""

    __tablename__ = "blocked_networks"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cidr: Mapped[str] = mapped_column(String(64), unique=True, doc="canonical, without host bits")
    reason: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is never")
