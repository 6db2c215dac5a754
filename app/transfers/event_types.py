"""The names of events, and the sides of a transfer that they happen on."""

from __future__ import annotations

from enum import Enum, StrEnum


class EventType(StrEnum):
    """``type`` of an event."""

    TRANSFER_SUBMITTED = "transfer.submitted"
    TRANSFER_SENT = "transfer.sent"
    TRANSFER_CONFIRMED = "transfer.confirmed"
    TRANSFER_FAILED = "transfer.failed"
    NETWORK_STATUS = "network.status"
    TRANSFER_DELAYED = "transfer.delayed"
    TRANSFER_RELEASED = "transfer.released"
    REFUND_REQUESTED = "refund.requested"
    REFUND_PREPARED = "refund.prepared"
    REFUND_SIGNED = "refund.signed"
    REFUND_SUBMITTED = "refund.submitted"
    REFUND_FAILED = "refund.failed"
    REFUND_DELAYED = "refund.delayed"
    REFUND_COMPLETED = "refund.completed"
    LIQUIDITY_ADDED = "liquidity.added"
    LIQUIDITY_WITHDRAWN = "liquidity.withdrawn"
    WITHDRAW_DONE = "withdraw.done"
    FEE_UPDATED = "fee.updated"
    VALIDATORS_UPDATED = "validators.updated"
    CHAIN_HEAD = "chain.head"
    CHAIN_REORGED = "chain.reorged"
    EVENTS_RETRACTED = "events.retracted"


class Side(Enum):
    """Which of a transfer's two chains an event's block belongs to."""

    SOURCE = "source"
    DESTINATION = "destination"
