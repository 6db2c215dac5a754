"""Which watcher reads which chain and how far, and what is stored of the blocks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Index, LargeBinary, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import BigId, Uint64, UtcTime
from app.values.identifiers import BlockNumber, ChainId

HASH_LENGTH = 66
OWNER_LENGTH = 128
SOURCE_LENGTH = 64
ACTOR_LENGTH = 320


class ChainWatch(Base):
    """One chain that is or was read: its lease, its cursor, and what operators look at.

    The holder of the lease writes under its ``epoch``, which grows whenever a watcher takes the lease, or the
    reading is stopped or started. So later writes of a former holder are refused
    (docs/decisions/0023-a-lease-with-an-epoch.md). The row stays when the chain leaves the configuration.
    """

    __tablename__ = "chain_watches"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)

    epoch: Mapped[int] = mapped_column(BigInteger, default=0)
    owner: Mapped[str | None] = mapped_column(String(OWNER_LENGTH), doc="null where no watcher has the lease")
    until: Mapped[datetime | None] = mapped_column(UtcTime, doc="when the lease ends if it is not renewed")

    live_from: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="where live reading began")
    live_to: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    live_to_hash: Mapped[str | None] = mapped_column(String(HASH_LENGTH))
    backfill_from: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    backfilled_to: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    reread_to: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="from backfill_from without a gap")
    reread_at: Mapped[datetime | None] = mapped_column(UtcTime)
    proven_to: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="from backfill_from without a gap")
    proven_at: Mapped[datetime | None] = mapped_column(UtcTime)
    matched_to: Mapped[BlockNumber | None] = mapped_column(
        BigInteger, doc="the highest block whose receipts matched its header"
    )
    unmatched: Mapped[int] = mapped_column(BigInteger, server_default="0", doc="blocks in doubt")
    contracts: Mapped[list[str] | None] = mapped_column(
        JSON(none_as_null=True), doc="whose logs all of this is about; null before the first reading"
    )

    head: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="the newest block that a node returned")
    head_hash: Mapped[str | None] = mapped_column(String(HASH_LENGTH))
    head_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="the time of that block")
    final: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="the newest block that is final")
    head_moved_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when another head was seen last")
    read_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of the last step")
    found_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of the last step that said something new")

    source: Mapped[str] = mapped_column(String(SOURCE_LENGTH), default="", doc="the variable's name")
    minute: Mapped[datetime | None] = mapped_column(UtcTime, doc="the one that calls_now counts")
    calls_now: Mapped[int] = mapped_column(BigInteger, default=0)
    calls_before: Mapped[int] = mapped_column(BigInteger, default=0, doc="of the minute before")

    fault: Mapped[str | None] = mapped_column(Text)
    fault_source: Mapped[str] = mapped_column(String(SOURCE_LENGTH), default="")
    fault_at: Mapped[datetime | None] = mapped_column(UtcTime)
    differed: Mapped[int] = mapped_column(BigInteger, default=0, doc="rereads that differed, ever")
    refused: Mapped[int] = mapped_column(BigInteger, default=0, doc="events that ingest refused, ever")

    stopped: Mapped[str | None] = mapped_column(Text, doc="why the chain is not read; null where it may be")
    stopped_at: Mapped[datetime | None] = mapped_column(UtcTime)
    stopped_by: Mapped[str | None] = mapped_column(String(ACTOR_LENGTH), doc="null: the watcher itself")

    extra: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, doc="what else the reader stores")


KEY_LENGTH = 256  # of the id of a log, with what one more fact of it appends

STATE_LENGTH = 16


class WatchHeader(Base):
    """A block by which a reorganisation is found. Final ones are deleted."""

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
    weighed: Mapped[bool] = mapped_column(
        Boolean, server_default=false(), doc="proven by the rule of evidence, and not by a release before it"
    )


class WatchDoubt(Base):
    """A block that was read and of which something is not agreed or proven (``steps.Doubt``).

    The table has its name from releases up to 1.0.1, which stored the blocks whose receipts did not match.
    Those rows have only a block and its tries.
    """

    __tablename__ = "watch_unmatched"
    __table_args__ = (
        Index("ix_watch_unmatched_tries", "chain_id", "tries", "block"),
        Index(
            "ix_watch_unmatched_open",
            "chain_id",
            "block",
            sqlite_where=text("final = 0"),
            postgresql_where=text("final = false"),
        ),
    )

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    block: Mapped[BlockNumber] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    tries: Mapped[int] = mapped_column(BigInteger, doc="requests to every URL so far")
    hash: Mapped[str | None] = mapped_column(String(HASH_LENGTH))
    words: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True), doc="what each URL said of it, its logs, and what was reported"
    )
    since: Mapped[datetime | None] = mapped_column(UtcTime, doc="when a log of it was returned first")
    agreed: Mapped[bool | None] = mapped_column(
        Boolean, doc="not in doubt: stored until headers are read, so that what was agreed is not forgotten"
    )
    disputed: Mapped[bool | None] = mapped_column(Boolean, doc="one URL denies what only one other returned")
    final: Mapped[bool | None] = mapped_column(Boolean, doc="no log of it that counts waits to be final")


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


class FaultyUrl(Base):
    """The newest answer of a URL that no honest node gives, such as one of another chain."""

    __tablename__ = "watch_faulty_urls"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    source: Mapped[str] = mapped_column(String(SOURCE_LENGTH), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcTime)
    words: Mapped[str] = mapped_column(Text)
