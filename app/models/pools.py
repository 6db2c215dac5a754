"""Sums over what the feed tells: of pools, fees and courses. Opening values stand in the network tables."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import ExactInteger, Uint64, Uint256, UtcTime
from app.domain.keys import ChainId


class PoolCounter(Base):
    """Sums of what standing events moved through one token's pool on one chain."""

    __tablename__ = "pool_counters"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    added: Mapped[int] = mapped_column(ExactInteger)
    sent: Mapped[int] = mapped_column(ExactInteger)
    relayed: Mapped[int] = mapped_column(ExactInteger)
    withdrawn: Mapped[int] = mapped_column(ExactInteger)


class PoolVolume(Base):
    """Standing pool sends by whole minute of their time: what epoch volumes are summed from."""

    __tablename__ = "pool_volumes"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    minute: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 60"
    )
    amount: Mapped[int] = mapped_column(ExactInteger)


class CourseCount(Base):
    """What became of transfers of one way that began within one span (``domain.transfer.effects.Courses``).

    Each is counted twice, in its hour and in its day of UTC, so that a month is read in as few rows as a day.
    """

    __tablename__ = "course_counts"

    hours: Mapped[int] = mapped_column(
        SmallInteger, primary_key=True, autoincrement=False, doc="length of the span: 1 or 24"
    )
    span: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 3600 // hours"
    )
    kind: Mapped[str] = mapped_column(String(8), primary_key=True, doc="SendKind; empty for a submission")
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    begun: Mapped[int] = mapped_column(BigInteger)
    completed: Mapped[int] = mapped_column(BigInteger)
    refund: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    sent: Mapped[int] = mapped_column(ExactInteger, doc="source units")
    paid_for: Mapped[int] = mapped_column(ExactInteger, doc="source units, of what was paid out")
    received: Mapped[int] = mapped_column(ExactInteger, doc="destination units")


class ReportedFee(Base):
    """The latest standing ``fee.updated`` of a route; outranks the configured base fee."""

    __tablename__ = "fed_fees"

    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    base_fee: Mapped[int] = mapped_column(Uint256, doc="destination units")
    at: Mapped[datetime] = mapped_column(UtcTime)
    event_id: Mapped[str] = mapped_column(String(256))
