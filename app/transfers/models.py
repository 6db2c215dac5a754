"""What follows from the events of each transfer, and what operators note and acknowledge."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.audit.models import ACTOR_LENGTH
from app.db.base import Base
from app.db.types import ACCOUNT_LENGTH, Address, BigId, ExactInteger, Hash32, Uint64, Uint256, UtcTime
from app.latency.median import FINE
from app.values.identifiers import BlockNumber, ChainId, TransferId

NOTE_LENGTH = 2000

OPEN = "status NOT IN (2, 5, 10)"
"""The transfers that are not over: not failed, completed or refunded. A query says it in these very
words (``transfer_is_open``), or the index of them does not serve."""

transfer_is_open = text(OPEN)

ID_END_BYTES = 2
"""The last bytes of an id that an index finds transfers by: of 100 million, about 1,500 share them."""

ID_END = f"substr(transfer_id, {33 - ID_END_BYTES}, {ID_END_BYTES})"
"""They, in the words of the index. A query says them in these very words, or the index does not serve."""


class Transfer(Base):
    """A transfer as its standing events have it (``domain.transfer.state.TransferState``).

    The indexes that end in ``updated_at`` list transfers, the last changed first; the one of open
    transfers loses each when it is over, so it stays small. A hash is only ever looked for whole:
    PostgreSQL's hash indexes take a third of the room.
    """

    __tablename__ = "transfers"
    __table_args__ = (
        Index("ix_transfers_src_chain_id_symbol_sent_at", "src_chain_id", "symbol", "sent_at"),
        Index("ix_transfers_dst_chain_id", "dst_chain_id"),
        Index("ix_transfers_status_since", "status", "status_since"),
        Index("ix_transfers_updated_at", "updated_at"),
        Index(
            "ix_transfers_open",
            "status",
            "updated_at",
            sqlite_where=transfer_is_open,
            postgresql_where=transfer_is_open,
        ),
        Index("ix_transfers_pair_updated_at", "src_chain_id", "dst_chain_id", "updated_at"),
        Index("ix_transfers_sender_updated_at", "sender", "updated_at"),
        Index("ix_transfers_receiver_updated_at", "receiver", "updated_at"),
        Index("ix_transfers_src_tx_hash", "src_tx_hash", postgresql_using="hash"),
        Index("ix_transfers_dst_tx_hash", "dst_tx_hash", postgresql_using="hash"),
        Index("ix_transfers_id_end", text(ID_END)),
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
    sent_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="of the standing send")
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


class TransferAccount(Base):
    """A transfer in the list of its sender or its receiver (``domain.transfer.accounts``).

    The key is the order in which a history is read, so that a page costs what it shows. Who removes a
    transfer removes its entries: a reference would need a further index, as large as the table.
    """

    __tablename__ = "transfer_accounts"
    __table_args__ = {"sqlite_with_rowid": False}

    account: Mapped[str] = mapped_column(String(3 * ACCOUNT_LENGTH), primary_key=True, doc="as account_key")
    began_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)


class TransferHash(Base):
    """A transaction that the log names and the transfer's row does not: of a refund, of a payout that is
    waiting, of a send or payout that fell or that another one outranks. What people search by."""

    __tablename__ = "transfer_hashes"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    tx_hash: Mapped[str] = mapped_column(String(128), primary_key=True, index=True)


class Refund(Base):
    """The evidence served while a transfer's status is 8; there is no row otherwise."""

    __tablename__ = "refunds"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    wd_onchain: Mapped[bytes] = mapped_column(LargeBinary)
    sorted_sigs: Mapped[list[str]] = mapped_column(JSON, doc="base64, sorted by signer")
    signers: Mapped[list[str]] = mapped_column(JSON, doc="base64, the whole set, sorted")
    powers: Mapped[list[str]] = mapped_column(JSON, doc="base64 minimal big-endian, as signers")


class WithdrawId(Base):
    """The id that a refund request of a transfer has in the pool bridge, and whether it was paid under it.

    The contract pays an id once, whatever transfer the request refers to.
    """

    __tablename__ = "withdraw_ids"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    withdraw_id: Mapped[bytes] = mapped_column(Hash32, primary_key=True, index=True)
    paid: Mapped[bool] = mapped_column(
        doc="the contract took the refund, final or not, and by this request or one of several"
    )


class WithdrawDone(Base):
    """A withdraw id that was used up in a block, by a refund or a withdrawal of liquidity.

    By the standing event that says so. The same id on another chain is another id.
    """

    __tablename__ = "withdraws_done"

    withdraw_id: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    ref_id: Mapped[TransferId | None] = mapped_column(Hash32, doc="the transfer; null for liquidity")


class RefundBasis(Base):
    """A request or signature that the answer about a refund rests on, by its event id.

    Of thousands that were reported these are few: the evidence is explained from them alone.
    """

    __tablename__ = "refund_basis"

    transfer_id: Mapped[TransferId] = mapped_column(
        Hash32, ForeignKey("transfers.transfer_id", ondelete="CASCADE"), primary_key=True
    )
    event_id: Mapped[str] = mapped_column(String(256), primary_key=True)


_PAIR = ("src_chain_id", "dst_chain_id")


class LatencyRecord(Base):
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


class TransferNote(Base):
    """What an operator wrote down about a transfer. It changes no answer.

    It is no projection: a replay leaves it. It goes when its transfer is pruned.
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


class Anomaly(Base):
    """One anomaly of one subject (``domain.anomalies.AnomalyKind``).

    It is there while it holds; one that holds again, or by further events, is open again.
    """

    __tablename__ = "anomalies"
    __table_args__ = (
        UniqueConstraint("subject", "kind"),
        Index("ix_anomalies_acknowledged_at_last_at", "acknowledged_at", "last_at"),
        Index("ix_anomalies_transfer_id", "transfer_id"),
    )

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
    """That an operator has seen to a transfer which stays in its state for too long, and their note.

    It holds while the transfer is in that state: once it has moved on, it counts as stuck anew. It is no
    projection: a replay leaves it. It goes when its transfer is pruned.
    """

    __tablename__ = "stuck_acknowledgements"

    transfer_id: Mapped[TransferId] = mapped_column(Hash32, primary_key=True)
    status: Mapped[int] = mapped_column(doc="the state that it was seen in")
    status_since: Mapped[datetime] = mapped_column(UtcTime)
    note: Mapped[str] = mapped_column(String(ACKNOWLEDGEMENT_LENGTH))
    at: Mapped[datetime] = mapped_column(UtcTime)
    by: Mapped[str] = mapped_column(String(ACTOR_LENGTH), doc="the account's email")
