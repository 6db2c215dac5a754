"""The event log, what follows from it for each transfer, and operators' notes and acknowledgements."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ForeignKey,
    Index,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.audit.models import ACTOR_LENGTH
from app.db.models import Base, Projected, ProjectedSum
from app.db.types import (
    ACCOUNT_LENGTH,
    Address,
    BigId,
    ChainIds,
    ExactInteger,
    Hash32,
    Uint64,
    Uint256,
    UtcTime,
    exact_order,
)
from app.transfers.rules.events.fields import MAX_SUBJECT
from app.values.identifiers import BlockNumber, ChainId, TransferId

NOTE_LENGTH = 2000

OPEN = "status NOT IN (2, 5, 10)"
"""The transfers that are not over: not failed, completed or refunded. The index only serves a query with
exactly this text (``transfer_is_open``)."""

transfer_is_open = text(OPEN)

BEGAN = "coalesce(began_at, updated_at)"
"""What the age of a transfer is counted from. Its index only serves a query with exactly this text."""

_REORG = text("type = 'chain.reorged'")
_HEAD = text("type = 'chain.head'")
_FEE = text("type = 'fee.updated'")


class Event(Base):
    """One acceptance of one event.

    ``seq`` is the order of acceptance, which is the order of commits (one writer). ``event_id`` is
    unique within its ``subject``. An event that is reported again, after a retraction or with more
    fields, is a further ``occurrence``. No row is updated but for this number.
    """

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("event_id", "subject", "occurrence"),
        Index("ix_events_transfer_id_seq", "transfer_id", "seq"),
        Index("ix_events_chain_id_type_block", "chain_id", "type", "block"),
        Index("ix_events_reporter_seq", "reporter", "seq"),
        Index("ix_events_reorgs", "seq", "chain_id", sqlite_where=_REORG, postgresql_where=_REORG),
        Index("ix_events_heads", "reporter", "chain_id", "block", sqlite_where=_HEAD, postgresql_where=_HEAD),
        Index("ix_events_fees", "subject", "at", sqlite_where=_FEE, postgresql_where=_FEE),
    )

    seq: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    event_id: Mapped[str] = mapped_column(String(256))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), doc="transfer:0x…, chain:1, route:1:56:USDT")
    occurrence: Mapped[int]
    type: Mapped[str] = mapped_column(String(32))
    at: Mapped[datetime] = mapped_column(UtcTime)
    received_at: Mapped[datetime] = mapped_column(UtcTime)
    reporter: Mapped[str] = mapped_column(String(64), doc="name of the ingest token, or cli")
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32, doc="set for events about a transfer")
    chain_id: Mapped[ChainId | None] = mapped_column(Uint64, doc="set for events about a chain")
    block: Mapped[BlockNumber | None] = mapped_column(
        BigInteger, doc="from_block of a reorg; null of a belated one, which has it only in its body"
    )
    limited_to: Mapped[frozenset[int] | None] = mapped_column(
        ChainIds, doc="the chains of the reporter of an event about a transfer; NULL: all"
    )
    body: Mapped[str] = mapped_column(Text, doc="canonical JSON of every known field")


class Transfer(Projected, Base):
    """A transfer as its canonical events have it (``app.transfers.rules.projected.TransferState``).

    The indexes that end in ``updated_at`` list transfers, the last changed first; the one of open
    transfers loses each when it is over, so it stays small. A hash is only ever looked for whole:
    PostgreSQL's hash indexes take a third of the room.
    """

    __tablename__ = "transfers"
    __table_args__ = (
        Index("ix_transfers_src_chain_id_symbol_sent_at", "src_chain_id", "symbol", "sent_at"),
        Index("ix_transfers_status_since", "status", "status_since"),
        Index("ix_transfers_updated_at", "updated_at"),
        Index(
            "ix_transfers_open",
            "status",
            "updated_at",
            sqlite_where=transfer_is_open,
            postgresql_where=transfer_is_open,
        ),
        Index("ix_transfers_src_updated_at", "src_chain_id", "updated_at"),
        Index("ix_transfers_dst_updated_at", "dst_chain_id", "updated_at"),
        Index("ix_transfers_sender_updated_at", "sender", "updated_at"),
        Index("ix_transfers_receiver_updated_at", "receiver", "updated_at"),
        Index("ix_transfers_src_tx_hash", "src_tx_hash", postgresql_using="hash"),
        Index("ix_transfers_dst_tx_hash", "dst_tx_hash", postgresql_using="hash"),
        Index("ix_transfers_age", text(BEGAN)),
    )

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    status: Mapped[int]
    refund_reason: Mapped[int]
    status_since: Mapped[datetime | None] = mapped_column(UtcTime, doc="time of the deciding event")
    kind: Mapped[str | None] = mapped_column(String(8))
    src_chain_id: Mapped[ChainId | None] = mapped_column(Uint64)
    dst_chain_id: Mapped[ChainId | None] = mapped_column(Uint64)
    symbol: Mapped[str | None] = mapped_column(String(64))
    token: Mapped[str | None] = mapped_column(
        Address, doc="the address of the source token, if the send names it"
    )
    amount: Mapped[int | None] = mapped_column(Uint256, doc="source units")
    sender: Mapped[str | None] = mapped_column(Address)
    receiver: Mapped[str | None] = mapped_column(Address)
    contract: Mapped[str | None] = mapped_column(Address, doc="the source contract that the send names")
    src_tx_hash: Mapped[str | None] = mapped_column(String(128))
    dst_tx_hash: Mapped[str | None] = mapped_column(String(128))
    sent_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of the canonical send")
    released_at: Mapped[datetime | None] = mapped_column(UtcTime)
    relayed_amount: Mapped[int | None] = mapped_column(
        ExactInteger, doc="what the release took from the destination pool; destination units"
    )
    updated_at: Mapped[datetime] = mapped_column(UtcTime, doc="the newest event's time")
    began_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of the earliest submission or send")
    received_amount: Mapped[int | None] = mapped_column(ExactInteger, doc="paid out; destination units")
    settled_block: Mapped[BlockNumber | None] = mapped_column(
        BigInteger, doc="of the event that status 2, 5 or 10 rests on; null where it names none"
    )


# The amounts of one token of one chain, by their number. The chain does not lead the index: PostgreSQL would
# take it for lists by chains and time, and sort.
Index("ix_transfers_token_amount", Transfer.symbol, Transfer.src_chain_id, exact_order(Transfer.amount))


class TransferAccount(Projected, Base):
    """A transfer in the list of its sender or its receiver (``rules.sums.account_entries``).

    The key is the order in which a history is read, so that a page only reads what it shows. The code that
    removes a transfer removes its entries: a reference would need another index, as large as the table.
    """

    __tablename__ = "transfer_accounts"
    __table_args__ = {"sqlite_with_rowid": False}

    account: Mapped[str] = mapped_column(String(3 * ACCOUNT_LENGTH), primary_key=True, doc="as account_key")
    began_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)


class TransferHash(Projected, Base):
    """A transaction that the log names and the transfer's row does not, so that it can be searched for: of a
    refund, of a waiting payout, of a send or payout that is orphaned or that another one outranks."""

    __tablename__ = "transfer_hashes"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    tx_hash: Mapped[str] = mapped_column(String(128), primary_key=True, index=True)


class Refund(Projected, Base):
    """The evidence served while a transfer's status is 8; there is no row otherwise."""

    __tablename__ = "refunds"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    wd_onchain: Mapped[bytes] = mapped_column(LargeBinary)
    sorted_sigs: Mapped[list[str]] = mapped_column(JSON, doc="base64, sorted by signer")
    signers: Mapped[list[str]] = mapped_column(JSON, doc="base64, the whole set, sorted")
    powers: Mapped[list[str]] = mapped_column(JSON, doc="base64 minimal big-endian, as signers")


class RefundBasis(Projected, Base):
    """A request or signature that the answer about a refund depends on, by its event id. They are few of
    thousands that may be reported, and the evidence is explained only from them.
    """

    __tablename__ = "refund_basis"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)


class TransferNote(Base):
    """A note of an operator about a transfer. It changes no answer.

    It is no projection: a replay does not change it. Pruning its transfer deletes it.
    """

    __tablename__ = "transfer_notes"
    __table_args__ = (Index("ix_transfer_notes_transfer_id", "transfer_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"), doc="who wrote it")
    at: Mapped[datetime] = mapped_column(UtcTime)
    text: Mapped[str] = mapped_column(String(NOTE_LENGTH))


ACKNOWLEDGEMENT_LENGTH = 500
"""Characters of a note."""


class Anomaly(Projected, Base):
    """One anomaly of one subject (``app.transfers.rules.anomalies.AnomalyKind``).

    Its row exists while it holds. One that holds again, or by further events, is open again.
    """

    __tablename__ = "anomalies"
    __table_args__ = (
        UniqueConstraint("subject", "kind"),
        Index("ix_anomalies_acknowledged_at_last_at", "acknowledged_at", "last_at"),
        Index("ix_anomalies_transfer_id", "transfer_id"),
    )
    apart = frozenset({"id", "acknowledged_at", "acknowledged_by"})

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(
        String(512), doc="transfer:0x…, rotation:1:ID, pool:1:USDT, event:transfer:0x…:ID"
    )
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32)
    chain_id: Mapped[ChainId | None] = mapped_column(Uint64)
    detail: Mapped[str] = mapped_column(Text)
    event_ids: Mapped[list[str]] = mapped_column(JSON)
    first_at: Mapped[datetime] = mapped_column(UtcTime)
    last_at: Mapped[datetime] = mapped_column(UtcTime)
    acknowledged_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is open")
    acknowledged_by: Mapped[str | None] = mapped_column(String(255))


class StuckAcknowledgement(Base):
    """An operator's acknowledgement of a transfer that stays in its state for too long, and their note.

    It holds while the transfer is in that state. After a change the transfer can count as stuck again. It is
    no projection: a replay does not change it. Pruning its transfer deletes it.
    """

    __tablename__ = "stuck_acknowledgements"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    status: Mapped[int] = mapped_column(doc="the state that it was seen in")
    status_since: Mapped[datetime] = mapped_column(UtcTime)
    note: Mapped[str] = mapped_column(String(ACKNOWLEDGEMENT_LENGTH))
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(String(ACTOR_LENGTH), doc="the account's email")


class EventAhead(Base):
    """An accepted event whose time is in the future. It has no effect until then."""

    __tablename__ = "events_ahead"

    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class RetractedEvent(Projected, Base):
    """An event that a canonical retraction names; acceptances up to ``seq`` are retracted."""

    __tablename__ = "retracted_events"

    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, index=True, doc="of the latest canonical retraction")
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32, index=True)


class ContradictedReport(Base):
    """A report of a log that is not in the block it names (docs/chains.md#reports).

    It is looked at again until it is known whether the block is proven. Once it is ``outranked``, the event
    is retracted, and counts for nothing when it is sent again, until a reorganisation reaches the block.
    """

    __tablename__ = "contradicted_reports"
    __table_args__ = (Index("ix_contradicted_reports_block", "chain_id", "block"),)

    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), primary_key=True)
    transfer_id: Mapped[TransferId | None] = mapped_column(Hash32, index=True)
    chain_id: Mapped[ChainId] = mapped_column(Uint64, doc="that was read")
    block: Mapped[BlockNumber] = mapped_column(BigInteger)
    reporter: Mapped[str] = mapped_column(String(64), index=True)
    at: Mapped[datetime] = mapped_column(UtcTime, doc="when it was found")
    tries: Mapped[int] = mapped_column(BigInteger, doc="requests about the block so far")
    outranked: Mapped[bool] = mapped_column(Boolean)


class RetractionTarget(Projected, Base):
    """An event that a retraction in the log names, canonical or not: finds a transfer's retractions among
    many.
    """

    __tablename__ = "retraction_targets"

    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), primary_key=True)
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    seq: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, index=True, doc="of the retraction"
    )


class ChainProgress(Projected, Base):
    __tablename__ = "chain_progress"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    highest_block: Mapped[BlockNumber | None] = mapped_column(BigInteger)
    newest_at: Mapped[datetime] = mapped_column(UtcTime, doc="the newest accepted event's time")


class TrendCount(ProjectedSum, Base):
    """The outcomes of transfers of one way that began in one span (``app.transfers.rules.sums.Trends``).

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


class PrunedTransfer(Base):
    """A finished transfer whose events were removed. Further events about it are refused."""

    __tablename__ = "pruned_transfers"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    status: Mapped[int]


class PrunedPool(Base):
    """The amounts that pruned transfers moved through a pool. A replay starts to count from them."""

    __tablename__ = "pruned_pools"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    symbol: Mapped[str] = mapped_column(String(64), primary_key=True)
    sent: Mapped[int] = mapped_column(ExactInteger)
    relayed: Mapped[int] = mapped_column(ExactInteger)


class PrunedReporter(Base):
    """The last of a reporter's pruned events: the cursor of a reporter without events since then."""

    __tablename__ = "pruned_reporters"

    reporter: Mapped[str] = mapped_column(String(64), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    event_id: Mapped[str] = mapped_column(String(256))
    type: Mapped[str] = mapped_column(String(32))
    at: Mapped[datetime] = mapped_column(UtcTime)
    received_at: Mapped[datetime] = mapped_column(UtcTime, doc="the newest of all that were pruned")
