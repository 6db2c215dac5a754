"""How many transfers took about how long: what a median is found by (feed/projection/latencies.py)."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import Uint64, UtcTime
from app.latency.median import FINE
from app.values.identifiers import ChainId

WIDTHS: Final = (25, FINE)
"""A record is counted in each. Only the release before reads the wide ones, and they end with it."""


class LatencyCount(Base):
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
