"""The events of the feed: one class for each type. The consequences of an event are not declared here.

The types of the fields (``fields``) say how a line is read and how the event is stored; ``label`` is
its name for operators. Amounts and powers are integers in smallest units, times aware and in UTC, transfer
ids 32 bytes. ``block`` is the number of the block that contains the event, if any.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from msgspec import Struct

from app.network.rules.validation_facts import Taken
from app.transfers.rules.events import fields
from app.transfers.rules.events.keys import (
    OPERATORS,
    EventKey,
    Side,
    subject_of_chain,
    subject_of_route,
    subject_of_transfer,
)
from app.values.identifiers import RouteKey

EVENT_CLASSES: Final[dict[str, type[Event]]] = {}
"""Event classes by type, in the order of their declaration."""


class Event(Struct, frozen=True, kw_only=True):
    """The fields of every event. ``order`` decides wherever "earliest" or "latest" counts."""

    type: ClassVar[str]
    label: ClassVar[str]

    id: fields.EventId
    at: fields.Time

    def __init_subclass__(cls) -> None:
        if "type" in vars(cls):  # the others are base classes
            EVENT_CLASSES[cls.type] = cls

    @property
    def order(self) -> tuple[Any, ...]:
        """The sort key that finds the earliest or latest of several of one type."""
        return self.at, self.id

    def fault(self) -> tuple[str, str] | None:
        """A field that other fields of the event contradict, and what it must be; None if there is none."""
        return None

    @property
    def subject(self) -> str:
        """What the event is about. Its id is unique within its subject."""
        raise NotImplementedError

    @property
    def key(self) -> EventKey:
        return EventKey(self.subject, self.id)


class TransferEvent(Event, frozen=True, kw_only=True):
    side: ClassVar[Side | None] = None
    transfer_id: fields.TransferId

    @property
    def subject(self) -> str:
        return subject_of_transfer(self.transfer_id)


class BlockEvent(TransferEvent, frozen=True, kw_only=True):
    """A transfer event that may have its block, and its place among the block's logs."""

    block: fields.Block | None = None
    block_hash: fields.Hash | None = None
    log_index: fields.LogIndex | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        """Events in a block come first, then by time and id."""
        return self.block is None, self.at, self.id


class PlacedEvent(BlockEvent, frozen=True, kw_only=True):
    """An event that may say on which chain it was read. One read on another chain than the transfer's does
    not count.
    """

    chain_id: fields.AnyChain | None = None


class TransferSubmitted(TransferEvent, frozen=True, kw_only=True):
    type = "transfer.submitted"
    label = "Source transaction announced"

    src_chain_id: fields.Chain
    dst_chain_id: fields.AnyChain | None = None
    symbol: fields.Symbol | None = None
    amount: fields.Amount | None = None
    sender: fields.Account | None = None
    receiver: fields.Account | None = None
    src_tx_hash: fields.Hash | None = None


class TransferSent(BlockEvent, frozen=True, kw_only=True):
    type = "transfer.sent"
    label = "Source transaction in a block"
    side = Side.SOURCE

    kind: fields.Sending
    src_chain_id: fields.Chain
    dst_chain_id: fields.AnyChain
    symbol: fields.Symbol | None = None
    token: fields.Account | None = None
    amount: fields.Amount
    sender: fields.Account
    receiver: fields.Account
    nonce: fields.Nonce | None = None
    max_slippage: fields.Slippage | None = None
    src_tx_hash: fields.Hash
    contract: fields.Account | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        """The sort key: by the place in the chain, where known, then by time and id."""
        in_block = self.block is None, self.block or 0
        return *in_block, self.log_index is None, self.log_index or 0, self.at, self.id

    @property
    def taken(self) -> Taken:
        """The fields that say which token was taken, and by which contract."""
        return Taken(self.kind, self.symbol, self.token, self.src_chain_id, self.dst_chain_id, self.contract)


class TransferConfirmed(PlacedEvent, frozen=True, kw_only=True):
    """The send's block is ``block_delay`` deep."""

    type = "transfer.confirmed"
    label = "Source block final"
    side = Side.SOURCE


class TransferFailed(PlacedEvent, frozen=True, kw_only=True):
    """The source transaction reverted or was dropped; nothing was taken."""

    type = "transfer.failed"
    label = "Source transaction failed"
    side = Side.SOURCE

    reason: fields.PlainReason | None = None


class NetworkStatus(TransferEvent, frozen=True, kw_only=True):
    """The validators' status of the transfer; the latest counts."""

    type = "network.status"
    label = "Decision of the validators"

    xfer_status: fields.NetworkWord


class TransferDelayed(PlacedEvent, frozen=True, kw_only=True):
    type = "transfer.delayed"
    label = "Payout queued by the delay rule"
    side = Side.DESTINATION

    dst_tx_hash: fields.Hash | None = None
    delayed_id: fields.Hash | None = None


class TransferReleased(PlacedEvent, frozen=True, kw_only=True):
    """Funds were paid out; ``amount`` in destination units."""

    type = "transfer.released"
    label = "Paid out on the destination"
    side = Side.DESTINATION

    dst_tx_hash: fields.Hash
    amount: fields.Amount | None = None


class RefundRequested(TransferEvent, frozen=True, kw_only=True):
    type = "refund.requested"
    label = "Refund requested"


class RefundPrepared(TransferEvent, frozen=True, kw_only=True):
    """The withdraw request that the validators are to sign."""

    type = "refund.prepared"
    label = "Refund request prepared"

    wd_onchain: fields.Bytes


class RefundSigned(TransferEvent, frozen=True, kw_only=True):
    type = "refund.signed"
    label = "Refund request signed"

    signature: fields.Bytes


class RefundSubmitted(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw is in a source block, not yet deep enough."""

    type = "refund.submitted"
    label = "Refund in a source block"
    side = Side.SOURCE

    tx_hash: fields.Hash


class RefundFailed(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw did not succeed. It cancels the ``RefundSubmitted`` of this transaction."""

    type = "refund.failed"
    label = "Refund transaction failed"
    side = Side.SOURCE

    tx_hash: fields.Hash


class RefundDelayed(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw was taken and waits in the contract's delay queue; nothing is paid yet."""

    type = "refund.delayed"
    label = "Refund queued by the delay rule"
    side = Side.SOURCE

    delayed_id: fields.Hash
    tx_hash: fields.Hash | None = None


class RefundCompleted(PlacedEvent, frozen=True, kw_only=True):
    """The user's withdraw is final and paid."""

    type = "refund.completed"
    label = "Refund final"
    side = Side.SOURCE

    tx_hash: fields.Hash | None = None


class ChainEvent(Event, frozen=True, kw_only=True):
    """An event of one chain that may have its block, and its place among the block's logs."""

    chain_id: fields.Chain
    block: fields.Block | None = None
    block_hash: fields.Hash | None = None
    log_index: fields.LogIndex | None = None

    @property
    def subject(self) -> str:
        return subject_of_chain(self.chain_id)


class LiquidityAdded(ChainEvent, frozen=True, kw_only=True):
    type = "liquidity.added"
    label = "Liquidity added"

    symbol: fields.Symbol
    amount: fields.Amount


class LiquidityWithdrawn(ChainEvent, frozen=True, kw_only=True):
    """``withdraw_id`` is the id that it used up (32 bytes)."""

    type = "liquidity.withdrawn"
    label = "Liquidity withdrawn"

    symbol: fields.Symbol
    amount: fields.Amount
    withdraw_id: fields.WithdrawId | None = None


class WithdrawDone(ChainEvent, frozen=True, kw_only=True):
    """The pool bridge took a request with this id: of a transfer, or of liquidity (``ref_id`` None)."""

    type = "withdraw.done"
    label = "Withdraw id used"

    withdraw_id: fields.WithdrawId
    ref_id: fields.TransferId | None = None


class FeeUpdated(Event, frozen=True, kw_only=True):
    """A route's base fee from now on, in destination units; the latest counts."""

    type = "fee.updated"
    label = "Base fee updated"

    symbol: fields.Symbol
    src_chain_id: fields.Chain
    dst_chain_id: fields.Chain
    base_fee: fields.Amount

    @property
    def route_key(self) -> RouteKey:
        return RouteKey(self.symbol, self.src_chain_id, self.dst_chain_id)

    @property
    def subject(self) -> str:
        return subject_of_route(self.route_key)


class ValidatorsUpdated(ChainEvent, frozen=True, kw_only=True):
    """The chain's whole new validator set, as its contract accepted it; the latest by ``order`` counts."""

    type = "validators.updated"
    label = "Validators replaced"

    signers: fields.Signers
    powers: fields.Powers

    def fault(self) -> tuple[str, str] | None:
        if len(self.signers) != len(self.powers):
            return "powers", "must have as many entries as signers"
        if len(set(self.signers)) != len(self.signers):
            return "signers", "must not name a signer twice"
        return None

    @property
    def order(self) -> tuple[Any, ...]:
        """The order on the chain: by block and log index, unknown ones first; then by time and id."""
        block = -1 if self.block is None else self.block
        log_index = -1 if self.log_index is None else self.log_index
        return block, log_index, self.at, self.id


class ChainHead(ChainEvent, frozen=True, kw_only=True):
    type = "chain.head"
    label = "Chain read up to a block"

    block: fields.Block


class ChainReorged(Event, frozen=True, kw_only=True):
    """Events of the chain accepted before this one, at ``from_block`` or above, are orphaned."""

    type = "chain.reorged"
    label = "Chain reorganised"

    chain_id: fields.Chain
    from_block: fields.Block

    @property
    def subject(self) -> str:
        return subject_of_chain(self.chain_id)


class EventsRetracted(Event, frozen=True, kw_only=True):
    """An operator or the watcher retracts events by their ids. Reporters cannot send it. A retraction can be
    retracted.

    ``subjects`` has the subject of each target. Retractions from before ids were unique only within a subject
    lack it: they name the event that had the id then.
    """

    type = "events.retracted"
    label = "Events retracted"

    targets: fields.Targets
    subjects: fields.Subjects | None = None
    reason: fields.Reason

    def fault(self) -> tuple[str, str] | None:
        if self.subjects is not None and len(self.subjects) != len(self.targets):
            return "subjects", "must have as many entries as targets"
        return None

    @property
    def subject(self) -> str:
        return OPERATORS


REPORTED: Final = tuple(name for name in EVENT_CLASSES if name != EventsRetracted.type)
"""The types that reporters may send."""
