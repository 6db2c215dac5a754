"""Counts of the outcomes of estimates, and the facts about pools and fees that events report."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base, Projected, ProjectedSum
from app.db.types import ExactInteger, Uint64, Uint256, UtcTime
from app.values.identifiers import ChainId


class EstimateCount(Base):
    """How many estimates of one minute had one outcome. All processes add to the same rows."""

    __tablename__ = "estimate_counts"

    minute: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 60 when they were written"
    )
    code: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, doc="ErrCode; 0 is an estimate")
    reason: Mapped[str] = mapped_column(String(32), primary_key=True, doc="Reason; empty for an estimate")
    count: Mapped[int] = mapped_column(BigInteger)


class PoolCounter(ProjectedSum, Base):
    """Sums of what canonical events moved through one token's pool on one chain."""

    __tablename__ = "pool_counters"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    added: Mapped[int] = mapped_column(ExactInteger)
    sent: Mapped[int] = mapped_column(ExactInteger)
    relayed: Mapped[int] = mapped_column(ExactInteger)
    withdrawn: Mapped[int] = mapped_column(ExactInteger)


class PoolVolume(ProjectedSum, Base):
    """Canonical pool sends by whole minute of their time. Epoch volumes are sums of these."""

    __tablename__ = "pool_volumes"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    minute: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 60"
    )
    amount: Mapped[int] = mapped_column(ExactInteger)


class ReportedFee(Projected, Base):
    """The latest canonical ``fee.updated`` of a route. It replaces the configured base fee."""

    __tablename__ = "fed_fees"

    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    base_fee: Mapped[int] = mapped_column(Uint256, doc="destination units")
    at: Mapped[datetime] = mapped_column(UtcTime)
    event_id: Mapped[str] = mapped_column(String(256))
