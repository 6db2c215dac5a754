"""How many transfers took about how long: what a median is found by (services/feed/latency/counts.py)."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import JSON, BigInteger, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.keys import ChainId
from app.extensions import Base
from app.models.types import Uint64, UtcTime


class LatencyCount(Base):
    """How many ``LatencyRecord`` released after ``LatencyWindow.since`` have a latency in one bucket.

    Each record is counted twice, in a wide bucket and in a fine one (``domain.latency``).
    """

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
    """One row: records released after ``since`` are counted, no others. Without it, none are.

    ``middles_since`` is the ``since`` for which every ``LatencyMiddle`` is right. With any change of a
    ``LatencyRecord`` a trigger makes it None; earlier releases know nothing of it, and leave it so.
    """

    __tablename__ = "latency_window"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    since: Mapped[datetime] = mapped_column(UtcTime)
    middles_since: Mapped[datetime | None] = mapped_column(UtcTime)


MIDDLES_ARE_RIGHT: Final = LatencyWindow.middles_since == LatencyWindow.since
"""Whether the middles can be trusted, of the one row. Not where the window moved without them."""


class LatencyMiddle(Base):
    """The middle of the counted latencies of a pair of chains, and its neighbours (``transfer.kept_middle``).

    A pair without a row has not been written about since the counts began. Rows count for nothing except
    where ``MIDDLES_ARE_RIGHT``.
    """

    __tablename__ = "latency_middles"

    src_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    low: Mapped[int] = mapped_column(BigInteger, doc="microseconds")
    high: Mapped[int] = mapped_column(BigInteger, doc="microseconds")
    below: Mapped[int] = mapped_column(BigInteger, doc="how many latencies are under low")
    above: Mapped[int] = mapped_column(BigInteger, doc="how many are over high")
    latencies: Mapped[list[list[int]]] = mapped_column(
        JSON, doc="[microseconds, how many] pairs of the others, sorted"
    )
