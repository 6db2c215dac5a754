"""What is kept of the blocks that were read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.keys import BlockNumber, ChainId
from app.extensions import Base
from app.models.types import BigId, Uint64, UtcTime
from app.models.watching.watches import HASH_LENGTH, SOURCE_LENGTH

KEY_LENGTH = 256
"""Characters of the id of a log, with what a further fact of it appends."""

STATE_LENGTH = 16


class WatchHeader(Base):
    """A block by which a reorganisation is found. Those that are final are forgotten."""

    __tablename__ = "watch_headers"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    number: Mapped[BlockNumber] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    hash: Mapped[str] = mapped_column(String(HASH_LENGTH))
    parent_hash: Mapped[str] = mapped_column(String(HASH_LENGTH))
    at: Mapped[datetime] = mapped_column(UtcTime)
    bloom: Mapped[bytes | None] = mapped_column(LargeBinary)
    receipts_root: Mapped[bytes | None] = mapped_column(LargeBinary)


class WatchSpan(Base):
    """A range of blocks that was read. No two of a chain overlap.

    Neighbours that will not be compared any more are one row, so there are few.
    """

    __tablename__ = "watch_spans"
    __table_args__ = (Index("ix_watch_spans_chain_id_last", "chain_id", "last"),)

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    first: Mapped[BlockNumber] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    last: Mapped[BlockNumber] = mapped_column(BigInteger)
    count: Mapped[int] = mapped_column(BigInteger, doc="of the logs in it")
    digest: Mapped[bytes] = mapped_column(LargeBinary, doc="empty where it is not known")
    source: Mapped[str] = mapped_column(String(SOURCE_LENGTH))
    state: Mapped[str] = mapped_column(String(STATE_LENGTH), doc="a value of SpanState")


class WatchWaiting(Base):
    """A fact that was read and that something else is still missing for."""

    __tablename__ = "watch_waiting"
    __table_args__ = (
        Index("ix_watch_waiting_due", "chain_id", "kind", "due"),
        Index("ix_watch_waiting_block", "chain_id", "block"),
    )

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(STATE_LENGTH), primary_key=True, doc="a value of WaitingKind")
    key: Mapped[str] = mapped_column(String(KEY_LENGTH), primary_key=True)
    block: Mapped[BlockNumber] = mapped_column(BigInteger)
    due: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)


class WatchMiss(Base):
    """A reread that differed from the first reading."""

    __tablename__ = "watch_misses"
    __table_args__ = (Index("ix_watch_misses_chain_id_id", "chain_id", "id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(Uint64)
    at: Mapped[datetime] = mapped_column(UtcTime)
    first: Mapped[BlockNumber] = mapped_column(BigInteger)
    last: Mapped[BlockNumber] = mapped_column(BigInteger)
    missing: Mapped[int] = mapped_column(BigInteger, doc="logs that the first reading lacked")
    surplus: Mapped[int] = mapped_column(BigInteger, doc="logs that it had too much")
    source: Mapped[str] = mapped_column(String(SOURCE_LENGTH))
    reread_source: Mapped[str] = mapped_column(String(SOURCE_LENGTH))
