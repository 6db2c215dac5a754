"""The console's labels for statuses, refund reasons, kinds of transfer, events, stages and anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.codes import SendKind, XferStatus
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.transfer.anomalies import AnomalyKind
from app.domain.transfer.events import EventType
from app.domain.transfer.stages import StageName


class Tone(StrEnum):
    """How a status looks: it sets the shape and colour of the pill beside the label."""

    UNKNOWN = "unknown"
    MOVING = "moving"
    DONE = "done"
    FAILED = "failed"
    REFUND = "refund"
    WAITING_FOR_USER = "waiting_for_user"


@dataclass(frozen=True, slots=True)
class StatusWords:
    """A status for people: a short label, what it means, and its tone."""

    label: str
    meaning: str
    tone: Tone


STATUS_WORDS: Final[dict[Status, StatusWords]] = {
    Status.TRANSFER_UNKNOWN: StatusWords(
        "Unknown",
        "Events of it are kept, but none of them stands: its block was reorganised away, or an operator "
        "took them back.",
        Tone.UNKNOWN,
    ),
    Status.TRANSFER_SUBMITTING: StatusWords(
        "Submitting",
        "The source transaction is announced or in a block that is not deep enough yet.",
        Tone.MOVING,
    ),
    Status.TRANSFER_FAILED: StatusWords(
        "Failed", "The source transaction failed and took nothing. No refund is needed.", Tone.FAILED
    ),
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: StatusWords(
        "Waiting for validators", "The send is deep enough; the validators have not decided yet.", Tone.MOVING
    ),
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: StatusWords(
        "Waiting for release", "The validators agreed; the destination has not paid out yet.", Tone.MOVING
    ),
    Status.TRANSFER_COMPLETED: StatusWords("Completed", "Paid out on the destination chain.", Tone.DONE),
    Status.TRANSFER_TO_BE_REFUNDED: StatusWords(
        "To be refunded", "The validators refused it; its refund has not begun.", Tone.REFUND
    ),
    Status.TRANSFER_REQUESTING_REFUND: StatusWords(
        "Refund being signed",
        "The refund has begun: its request or the signatures of a quorum are missing.",
        Tone.REFUND,
    ),
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: StatusWords(
        "Refund ready",
        "The user can claim the refund on the source chain; nobody else has to act.",
        Tone.WAITING_FOR_USER,
    ),
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: StatusWords(
        "Refund confirming",
        "The refund is in a source block that is not deep enough yet, or in the contract's delay queue.",
        Tone.REFUND,
    ),
    Status.TRANSFER_REFUNDED: StatusWords("Refunded", "Paid back on the source chain.", Tone.DONE),
    Status.TRANSFER_DELAYED: StatusWords(
        "Delayed", "The payout waits in the destination's delay queue, as large ones do.", Tone.MOVING
    ),
}

REFUND_REASONS: Final[dict[XferStatus, str]] = {
    XferStatus.BAD_LIQUIDITY: "the destination pool held too little",
    XferStatus.BAD_SLIPPAGE: "the price moved further than the slippage allowed",
    XferStatus.BAD_TOKEN: "the token is not supported there, or the amount is not available",
    XferStatus.BAD_XFER_DISABLED: "transfers of the token were disabled",
    XferStatus.BAD_DEST_CHAIN: "the destination chain is not supported",
}

NETWORK_WORDS: Final[dict[XferStatus, str]] = {
    XferStatus.OK_TO_RELAY: "it may be paid out",
    XferStatus.SUCCESS: "agreed: it is to be paid out",
    XferStatus.REFUND_REQUESTED: "its refund has begun",
    XferStatus.REFUND_DONE: "it was refunded",
    **{status: f"refused: {words}" for status, words in REFUND_REASONS.items()},
}

KIND_WORDS: Final[dict[SendKind, str]] = {
    SendKind.POOL: "pool send",
    SendKind.DEPOSIT: "deposit into a vault",
    SendKind.BURN: "burn of a pegged token",
}

EVENT_WORDS: Final[dict[EventType, str]] = {
    EventType.TRANSFER_SUBMITTED: "Source transaction announced",
    EventType.TRANSFER_SENT: "Source transaction in a block",
    EventType.TRANSFER_CONFIRMED: "Source block deep enough",
    EventType.TRANSFER_FAILED: "Source transaction failed",
    EventType.NETWORK_STATUS: "Validators' word",
    EventType.TRANSFER_DELAYED: "Payout queued by the delay rule",
    EventType.TRANSFER_RELEASED: "Paid out on the destination",
    EventType.REFUND_REQUESTED: "Refund asked for",
    EventType.REFUND_PREPARED: "Refund request prepared",
    EventType.REFUND_SIGNED: "Refund request signed",
    EventType.REFUND_SUBMITTED: "Refund in a source block",
    EventType.REFUND_FAILED: "Refund transaction failed",
    EventType.REFUND_DELAYED: "Refund queued by the delay rule",
    EventType.REFUND_COMPLETED: "Refund final",
    EventType.LIQUIDITY_ADDED: "Liquidity added",
    EventType.LIQUIDITY_WITHDRAWN: "Liquidity withdrawn",
    EventType.FEE_UPDATED: "Base fee updated",
    EventType.VALIDATORS_UPDATED: "Validators replaced",
    EventType.CHAIN_HEAD: "Chain read up to a block",
    EventType.CHAIN_REORGED: "Chain reorganised",
    EventType.EVENTS_RETRACTED: "Events taken back by an operator",
}

STAGE_WORDS: Final[dict[StageName, str]] = {
    StageName.SUBMITTED: "Announced",
    StageName.SENT: "In a source block",
    StageName.FAILED: "Failed",
    StageName.CONFIRMED: "Deep enough",
    StageName.DECIDED: "Decided by the validators",
    StageName.DELAYED: "Queued by the delay rule",
    StageName.RELEASED: "Paid out",
    StageName.REFUND_REQUESTED: "Refund begun",
    StageName.REFUND_PREPARED: "Refund request prepared",
    StageName.REFUND_SIGNED: "Signed by a quorum",
    StageName.REFUND_SUBMITTED: "Refund in a source block",
    StageName.REFUND_DELAYED: "Refund queued by the delay rule",
    StageName.REFUNDED: "Refunded",
}

ANOMALY_WORDS: Final[dict[AnomalyKind, tuple[str, str]]] = {
    AnomalyKind.REFUND_AND_RELEASE: (
        "Paid out and refunded",
        "Look at both transactions in the explorers. If both paid, funds were lost: stop the route and call "
        "the bridge's engineers. If one report is wrong, take it back.",
    ),
    AnomalyKind.RELEASED_TWICE: (
        "Paid out twice",
        "Look at each payout in the explorer. If both paid, stop the route and call the bridge's engineers.",
    ),
    AnomalyKind.DIFFERENT_SENDS: (
        "Reported with different contents",
        "Compare the sends with the explorer and take back the wrong one.",
    ),
    AnomalyKind.PAYOUT_TOO_LARGE: (
        "Payout larger than the amount sent",
        "Look at the payout in the explorer. If it is right, stop the route and call the bridge's engineers.",
    ),
    AnomalyKind.FAILED_AND_SENT: (
        "Reported as failed and as sent",
        "Look at the source transaction in the explorer and take back the wrong report.",
    ),
    AnomalyKind.BAD_AND_SUCCESS: (
        "Refused and agreed",
        "The validators said both; the last word counts. Ask those who run the validators.",
    ),
    AnomalyKind.DIFFERENT_REQUESTS: (
        "Several refund requests",
        "No more than one may reach a quorum. Ask those who run the validators which one is right.",
    ),
    AnomalyKind.RELEASE_BEFORE_SEND: (
        "Paid out before it was sent",
        "Look at both transactions in the explorers; reporters' clocks may differ. Take back what is wrong.",
    ),
    AnomalyKind.UNLISTED_CONTRACT: (
        "Sent through a contract that is not listed",
        "Its refund waits. If the contract is the bridge's, list it in the pegged pair. If not, the report "
        "is wrong, or somebody reports what never was: take it back and revoke the reporter's token.",
    ),
    AnomalyKind.WITHDRAW_ID_PAID: (
        "Refund request that was paid for another transfer",
        "The contract pays a withdraw id once, so this request can never be paid. Ask those who run the "
        "validators for another one, with another seqnum.",
    ),
    AnomalyKind.ID_WITH_TWO_CONTENTS: (
        "One event id, two contents",
        "The reporter used an id twice; the second content was refused. Ask who runs the reporter.",
    ),
    AnomalyKind.ROTATION_KEEPS_TOO_LITTLE: (
        "New validators keep too little of the old power",
        "A report of validators that nobody knows may be an attack. Compare with the contract; if it is "
        "wrong, take it back and revoke the reporter's token.",
    ),
    AnomalyKind.POOL_UNDER_ZERO: (
        "Pool under zero",
        "Events are missing, or the opening values are wrong. Compare the pool with the chain.",
    ),
}
"""What an anomaly is called, and what to do about it."""

UNKNOWN_ANOMALY: Final = ("Anomaly", "Look at the events it rests on.")
