"""The console's labels for statuses, refund reasons, kinds of transfer, events, stages and anomalies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from app.console.shell.formats import Tone
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.progress import NextActor
from app.transfers.rules.stuck import StageName
from app.values.codes import SendKind, XferStatus
from app.values.codes import TransferHistoryStatus as Status


class StatusWords(Struct, frozen=True):
    """A status for people: a short label, what it means, and its tone."""

    label: str
    meaning: str
    tone: Tone


STATUS_WORDS: Final[dict[Status, StatusWords]] = {
    Status.TRANSFER_UNKNOWN: StatusWords(
        "Unknown",
        "A reorganisation removed all its events, or an operator retracted them.",
        Tone.UNKNOWN,
    ),
    Status.TRANSFER_SUBMITTING: StatusWords(
        "Submitting",
        "The source transaction is announced, or its block is not final yet.",
        Tone.MOVING,
    ),
    Status.TRANSFER_FAILED: StatusWords(
        "Failed", "The source transaction failed and took nothing. No refund is needed.", Tone.FAILED
    ),
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: StatusWords(
        "Waiting for validators",
        "The source block is final; the validators have not decided yet.",
        Tone.MOVING,
    ),
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: StatusWords(
        "Waiting for release",
        "The validators approved it; the destination has not paid out yet.",
        Tone.MOVING,
    ),
    Status.TRANSFER_COMPLETED: StatusWords("Completed", "Paid out on the destination chain.", Tone.DONE),
    Status.TRANSFER_TO_BE_REFUNDED: StatusWords(
        "To be refunded", "The validators refused it; the user has not requested the refund yet.", Tone.REFUND
    ),
    Status.TRANSFER_REQUESTING_REFUND: StatusWords(
        "Refund being signed",
        "The refund has begun; the validators' request or the signatures of a quorum are missing.",
        Tone.REFUND,
    ),
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: StatusWords(
        "Refund ready",
        "The user can claim the refund on the source chain; no one else has to act.",
        Tone.WAITING_FOR_USER,
    ),
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: StatusWords(
        "Refund confirming",
        "The refund is in a source block that is not final yet, or in the contract's delay queue.",
        Tone.REFUND,
    ),
    Status.TRANSFER_REFUNDED: StatusWords("Refunded", "Paid back on the source chain.", Tone.DONE),
    Status.TRANSFER_DELAYED: StatusWords(
        "Delayed", "The payout is large and waits in the delay queue of the destination.", Tone.MOVING
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
    XferStatus.OK_TO_RELAY: "approved for payout",
    XferStatus.SUCCESS: "approved: it will be paid out",
    XferStatus.REFUND_REQUESTED: "the refund has started",
    XferStatus.REFUND_DONE: "refunded",
    **{status: f"refused: {words}" for status, words in REFUND_REASONS.items()},
}

KIND_WORDS: Final[dict[SendKind, str]] = {
    SendKind.POOL: "Pool transfer",
    SendKind.DEPOSIT: "Deposit into a vault",
    SendKind.BURN: "Burn of a pegged token",
}

STAGE_WORDS: Final[dict[StageName, str]] = {
    StageName.SUBMITTED: "Announced",
    StageName.SENT: "In a source block",
    StageName.FAILED: "Failed",
    StageName.CONFIRMED: "Final on the source",
    StageName.DECIDED: "Decided by the validators",
    StageName.DELAYED: "Queued by the delay rule",
    StageName.RELEASED: "Paid out",
    StageName.REFUND_REQUESTED: "Refund requested",
    StageName.REFUND_PREPARED: "Refund request prepared",
    StageName.REFUND_SIGNED: "Signed by a quorum",
    StageName.REFUND_SUBMITTED: "Refund in a source block",
    StageName.REFUND_DELAYED: "Refund queued by the delay rule",
    StageName.REFUNDED: "Refunded",
}

NEXT_ACTOR_WORDS: Final[dict[NextActor, str]] = {
    NextActor.NETWORK: "The network",
    NextActor.USER: "The user",
    NextActor.NOBODY: "Nobody: it is finished",
}

ANOMALY_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    AnomalyKind.REFUND_AND_RELEASE: (
        "Paid out and refunded",
        "Check both transactions in the explorers. If both paid, funds were lost: block the route and call "
        "the bridge's engineers. If one report is wrong, retract it.",
    ),
    AnomalyKind.RELEASED_TWICE: (
        "Paid out twice",
        "Check each payout in the explorer. If both paid, block the route and call the bridge's engineers.",
    ),
    AnomalyKind.DIFFERENT_SENDS: (
        "Reported with different contents",
        "Compare the sends with the explorer and retract the wrong one.",
    ),
    AnomalyKind.PAYOUT_TOO_LARGE: (
        "Payout larger than the amount sent",
        "Check the payout in the explorer. If it is right, block the route and call the bridge's engineers.",
    ),
    AnomalyKind.FAILED_AND_SENT: (
        "Reported as failed and as sent",
        "Check the source transaction in the explorer and retract the wrong report.",
    ),
    AnomalyKind.BAD_AND_SUCCESS: (
        "Refused and approved",
        "The validators reported both; the last decision counts. Ask the team that runs the validators.",
    ),
    AnomalyKind.DIFFERENT_REQUESTS: (
        "Several refund requests",
        "Only one may reach a quorum. Ask the team that runs the validators which one is right.",
    ),
    AnomalyKind.RELEASE_BEFORE_SEND: (
        "Paid out before it was sent",
        "Check both transactions in the explorers; reporters' clocks may differ. Retract the wrong report.",
    ),
    AnomalyKind.UNLISTED_CONTRACT: (
        "Sent through a contract that is not listed",
        "Its refund waits. If the contract belongs to the bridge, add it to the pegged pair. If not, the "
        "report is wrong or made up: retract it and revoke the ingest token of its reporter.",
    ),
    AnomalyKind.WITHDRAW_ID_PAID: (
        "Refund request already paid for another transfer",
        "The contract pays a withdraw id once, so this request can never be paid. Ask the team that "
        "runs the validators for another one, with another seqnum.",
    ),
    AnomalyKind.DELAY_PAYS_AT_ONCE: (
        "Queued and paid out by one transaction",
        "The contract logs the same event for a payout that it queues. Check the transaction in the "
        "explorer: if it only queued, retract the payout and tell the team that runs the reporter.",
    ),
    AnomalyKind.ID_WITH_TWO_CONTENTS: (
        "One event id, two contents",
        "The reporter used an id twice; the second content was refused. Ask the team that runs the reporter.",
    ),
    AnomalyKind.ROTATION_KEEPS_TOO_LITTLE: (
        "New validators have too little of the old power",
        "A report of unknown validators may be an attack. Compare it with the contract; if it is wrong, "
        "retract it and revoke the ingest token of its reporter.",
    ),
    AnomalyKind.READ_ON_ANOTHER_CHAIN: (
        "Reported from a chain that is not the transfer's",
        "The gateway ignores it. A node or reporter of the chain named here is wrong or lies: find which, "
        "and revoke its ingest token or remove its URL.",
    ),
    AnomalyKind.SEND_CONTRADICTS_ID: (
        "A send that does not give its transfer id",
        "The gateway ignores it. An earlier release accepted it, because it did not read the nonce. Check "
        "what else its reporter sent.",
    ),
    AnomalyKind.POOL_UNDER_ZERO: (
        "Pool below zero",
        "Events are missing, or the opening values are wrong. Compare the pool with the chain.",
    ),
    AnomalyKind.REPORT_CONTRADICTS_BLOCK: (
        "Reported event that its block does not contain",
        "Look at the transaction in an explorer. If the report is false, revoke the ingest token of its "
        "reporter, and retract the event if the gateway has not done so.",
    ),
}
"""The name of each anomaly, and what to do about it."""

UNKNOWN_ANOMALY: Final = ("Anomaly", "Check the events it is based on.")
