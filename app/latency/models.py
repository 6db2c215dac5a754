"""How long transfers took, and the counts of latencies by which a median is found."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, ForeignKey, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base, Projected, ProjectedSum
from app.db.types import Hash32, Uint64, UtcTime
from app.latency.rules.median import FINE
from app.values.identifiers import ChainId, TransferId

_PAIR: Final = ("src_chain_id", "dst_chain_id")

WIDTHS: Final = (25, FINE)
"""A record is counted in each. Only the previous release reads the wide ones; they go with it."""


class LatencyCount(ProjectedSum, Base):
    """How many ``LatencyRecord`` released after ``LatencyWindow.since`` have a latency in one bucket."""

    __tablename__ = "latency_counts"

    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    width: Mapped[int] = mapped_column(
        SmallInteger, primary_key=True, autoincrement=False, doc="buckets are 2^width microseconds wide"
    )
    bucket: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="latency_us >> width"
    )
    n: Mapped[int] = mapped_column(BigInteger)


class LatencyWindow(Base):
    """One row: records released after ``since`` are counted, no others. Without it, none are."""

    __tablename__ = "latency_window"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    since: Mapped[datetime] = mapped_column(UtcTime)


class LatencyRecord(Projected, Base):
    """How long a completed transfer took, from its send to its release."""

    __tablename__ = "latency_records"
    __table_args__ = (
        Index("ix_latency_records_pair_released_at", *_PAIR, "released_at", "latency_us"),
        Index(
            "ix_latency_records_pair_fine",
            *_PAIR,
            text(f"(latency_us >> {FINE})"),
            "released_at",
            "latency_us",
        ),
        Index("ix_latency_records_released_at", "released_at"),
    )

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64)
    released_at: Mapped[datetime] = mapped_column(UtcTime)
    latency_us: Mapped[int] = mapped_column(BigInteger, doc="microseconds, never negative")
