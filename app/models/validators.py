"""The validator set that each chain's bridge contract knows now."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import Uint64, UtcTime
from app.domain.keys import ChainId


class ReportedValidatorSet(Base):
    """The latest standing ``validators.updated`` of a chain; outranks the opening set."""

    __tablename__ = "fed_validator_sets"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(doc="how many standing updates the chain has had")
    members: Mapped[list[list[str]]] = mapped_column(JSON, doc="[address, power] pairs, sorted by address")
    at: Mapped[datetime] = mapped_column(UtcTime)
    event_id: Mapped[str] = mapped_column(String(256))
