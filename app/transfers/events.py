"""What the feed reports: one frozen dataclass an event type.

Amounts and powers are integers in smallest units, times aware and in UTC, transfer ids
32 bytes. ``block`` is the number of the block the event stands in, where it stands in one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct

from app.network.facts import Taken
from app.transfers.event_types import EventType, Side
from app.transfers.subjects import (
    OPERATORS,
    EventKey,
    subject_of_chain,
    subject_of_route,
    subject_of_transfer,
)
from app.values.codes import SendKind, XferStatus
from app.values.identifiers import BlockNumber, ChainId, RouteKey, TransferId


class Event(Struct, frozen=True, kw_only=True):
    """What every event has. ``order`` orders events wherever "earliest" or "latest" counts."""

    type: ClassVar[EventType]

    id: str
    at: datetime

    @property
    def order(self) -> tuple[Any, ...]:
        """The key by which the earliest or latest of several of one type is found."""
        return self.at, self.id

    @property
    def subject(self) -> str:
        """What the event is about: its id is unique within that."""
        raise NotImplementedError

    @property
    def key(self) -> EventKey:
        """What names the event."""
        return EventKey(self.subject, self.id)


class TransferEvent(Event, frozen=True, kw_only=True):
    """An event about one transfer."""

    side: ClassVar[Side | None] = None

    transfer_id: TransferId

    @property
    def subject(self) -> str:
        """The transfer."""
        return subject_of_transfer(self.transfer_id)


class BlockEvent(TransferEvent, frozen=True, kw_only=True):
    """A transfer event that may carry the block it stands in, and its place among the block's logs."""

    block: BlockNumber | None = None
    block_hash: str | None = None
    log_index: int | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        """What stands in a block comes first, then by time and id."""
        return self.block is None, self.at, self.id


class PlacedEvent(BlockEvent, frozen=True, kw_only=True):
    """One that may say on which chain it was read: on another than the transfer's own it does not count."""

    chain_id: ChainId | None = None


class TransferSubmitted(TransferEvent, frozen=True, kw_only=True):
    """The source transaction was announced."""

    type = EventType.TRANSFER_SUBMITTED

    src_chain_id: ChainId
    dst_chain_id: ChainId | None = None
    symbol: str | None = None
    amount: int | None = None
    sender: str | None = None
    receiver: str | None = None
    src_tx_hash: str | None = None


class TransferSent(BlockEvent, frozen=True, kw_only=True):
    """The source transaction stands in a block."""

    type = EventType.TRANSFER_SENT
    side = Side.SOURCE

    kind: SendKind
    src_chain_id: ChainId
    dst_chain_id: ChainId
    amount: int
    sender: str
    receiver: str
    src_tx_hash: str
    symbol: str | None = None
    token: str | None = None
    nonce: str | None = None
    max_slippage: int | None = None
    contract: str | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        """By the place in the chain where it is known, then by time and id."""
        in_block = self.block is None, self.block or 0
        return *in_block, self.log_index is None, self.log_index or 0, self.at, self.id

    @property
    def taken(self) -> Taken:
        """What says which token was taken, and which contract has it."""
        return Taken(self.kind, self.symbol, self.token, self.src_chain_id, self.dst_chain_id, self.contract)


class TransferConfirmed(PlacedEvent, frozen=True, kw_only=True):
    """The send's block is ``block_delay`` deep."""

    type = EventType.TRANSFER_CONFIRMED
    side = Side.SOURCE


class TransferFailed(PlacedEvent, frozen=True, kw_only=True):
    """The source transaction reverted or was dropped; nothing was taken."""

    type = EventType.TRANSFER_FAILED
    side = Side.SOURCE

    reason: str | None = None


class NetworkStatus(TransferEvent, frozen=True, kw_only=True):
    """The validator network's status of the transfer; the latest counts."""

    type = EventType.NETWORK_STATUS

    xfer_status: XferStatus


class TransferDelayed(PlacedEvent, frozen=True, kw_only=True):
    """The release was queued by the delay rule."""

    type = EventType.TRANSFER_DELAYED
    side = Side.DESTINATION

    dst_tx_hash: str | None = None
    delayed_id: str | None = None


class TransferReleased(PlacedEvent, frozen=True, kw_only=True):
    """Funds were paid out; ``amount`` in destination units."""

    type = EventType.TRANSFER_RELEASED
    side = Side.DESTINATION

    dst_tx_hash: str
    amount: int | None = None


class RefundRequested(TransferEvent, frozen=True, kw_only=True):
    """The refund flow has begun."""

    type = EventType.REFUND_REQUESTED


class RefundPrepared(TransferEvent, frozen=True, kw_only=True):
    """The withdraw request that the validators are to sign."""

    type = EventType.REFUND_PREPARED

    wd_onchain: bytes


class RefundSigned(TransferEvent, frozen=True, kw_only=True):
    """One validator's signature over a withdraw request."""

    type = EventType.REFUND_SIGNED

    signature: bytes


class RefundSubmitted(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw is in a source block, not yet deep enough."""

    type = EventType.REFUND_SUBMITTED
    side = Side.SOURCE

    tx_hash: str


class RefundFailed(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw did not succeed: takes the ``RefundSubmitted`` of this transaction back."""

    type = EventType.REFUND_FAILED
    side = Side.SOURCE

    tx_hash: str


class RefundDelayed(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw was taken and waits in the contract's delay queue; nothing is paid yet."""

    type = EventType.REFUND_DELAYED
    side = Side.SOURCE

    delayed_id: str
    tx_hash: str | None = None


class RefundCompleted(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw is final and paid."""

    type = EventType.REFUND_COMPLETED
    side = Side.SOURCE

    tx_hash: str | None = None


class ChainEvent(Event, frozen=True, kw_only=True):
    """An event of one chain that may carry the block it stands in, and its place among the block's logs."""

    chain_id: ChainId
    block: BlockNumber | None = None
    block_hash: str | None = None
    log_index: int | None = None

    @property
    def subject(self) -> str:
        """The chain."""
        return subject_of_chain(self.chain_id)


class LiquidityAdded(ChainEvent, frozen=True, kw_only=True):
    """A liquidity provider's deposit."""

    type = EventType.LIQUIDITY_ADDED

    symbol: str
    amount: int


class LiquidityWithdrawn(ChainEvent, frozen=True, kw_only=True):
    """A liquidity provider's withdrawal. ``withdraw_id`` is the one that it used up (32 bytes)."""

    type = EventType.LIQUIDITY_WITHDRAWN

    symbol: str
    amount: int
    withdraw_id: bytes | None = None


class WithdrawDone(ChainEvent, frozen=True, kw_only=True):
    """The pool bridge took a request with this id: of a transfer, or of liquidity (``ref_id`` None)."""

    type = EventType.WITHDRAW_DONE

    withdraw_id: bytes
    ref_id: TransferId | None = None


class ValidatorsUpdated(ChainEvent, frozen=True, kw_only=True):
    """The chain's whole new validator set, whatever its contract accepted; the latest by ``order`` counts."""

    type = EventType.VALIDATORS_UPDATED

    signers: tuple[str, ...]
    powers: tuple[int, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """The chain's own: by block and log index, those that are not known first; then by time and id."""
        block = -1 if self.block is None else self.block
        log_index = -1 if self.log_index is None else self.log_index
        return block, log_index, self.at, self.id


class ChainHead(ChainEvent, frozen=True, kw_only=True):
    """The chain has been read up to ``block``."""

    type = EventType.CHAIN_HEAD


class ChainReorged(Event, frozen=True, kw_only=True):
    """Events of the chain accepted before this one, at ``from_block`` or above, no longer stand."""

    type = EventType.CHAIN_REORGED

    chain_id: ChainId
    from_block: BlockNumber

    @property
    def subject(self) -> str:
        """The chain."""
        return subject_of_chain(self.chain_id)


class EventsRetracted(Event, frozen=True, kw_only=True):
    """An operator or the watcher retracts events by their ids. A retraction can be retracted itself.

    Never reported by the feed: appended by ``events retract``, and by the watcher for what it reported and
    the chain does not have. ``subjects`` says of each target what it is
    about. It is missing in retractions from before ids were told apart by subject: those name whatever
    had the id then.
    """

    type = EventType.EVENTS_RETRACTED

    targets: tuple[str, ...]
    reason: str
    subjects: tuple[str, ...] | None = None

    @property
    def subject(self) -> str:
        """The operators' own."""
        return OPERATORS


class FeeUpdated(Event, frozen=True, kw_only=True):
    """A route's base fee from now on, in destination units; the latest counts."""

    type = EventType.FEE_UPDATED

    symbol: str
    src_chain_id: ChainId
    dst_chain_id: ChainId
    base_fee: int

    @property
    def route_key(self) -> RouteKey:
        """The route whose fee it is."""
        return RouteKey(self.symbol, self.src_chain_id, self.dst_chain_id)

    @property
    def subject(self) -> str:
        """The route."""
        return subject_of_route(self.route_key)


def is_ahead(event: Event, now: datetime) -> bool:
    """Whether nothing follows from the event yet: its time is still to come.

    What takes others back does so at once: otherwise both the old and the new blocks of a chain would count.
    """
    return event.at > now and not isinstance(event, ChainReorged | EventsRetracted)


EVENT_CLASSES: dict[EventType, type[Event]] = {
    cls.type: cls
    for cls in (
        TransferSubmitted, TransferSent, TransferConfirmed, TransferFailed, NetworkStatus, TransferDelayed,
        TransferReleased, RefundRequested, RefundPrepared, RefundSigned, RefundSubmitted, RefundFailed,
        RefundDelayed, RefundCompleted, LiquidityAdded, LiquidityWithdrawn, WithdrawDone, FeeUpdated,
        ValidatorsUpdated, ChainHead, ChainReorged, EventsRetracted,
    )
}  # fmt: skip
