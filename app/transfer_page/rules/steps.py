"""The progress of a transfer as a few steps, the names of its transactions, and how sure its status is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.refunds.rules.call import ContractCall
from app.transfer_page.rules.reader import Reader, message
from app.transfer_page.rules.words import Explanation, Situation
from app.transfers.rules.certainty import Certainty, Level, ReportedBy
from app.transfers.rules.progress import Progress
from app.transfers.rules.stuck import WITHOUT_MEDIAN, Stage, StageName
from app.transfers.rules.stuck import Progress as StepProgress
from app.values.codes import REFUND_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber


class StepName(StrEnum):
    SENT = "sent"
    FAILED = "failed"
    FINAL = "final"
    CHECKED = "checked"
    HELD = "held"
    PAID_OUT = "paid_out"
    STOPPED = "stopped"
    REFUND_REQUESTED = "refund_requested"
    REFUND_PREPARED = "refund_prepared"
    REFUND_CONFIRMED = "refund_confirmed"
    REFUND_HELD = "refund_held"
    REFUNDED = "refunded"


class Step(Struct, frozen=True):
    """One step: done, current or to come. ``at`` is when it was done, None while it is not, or not known."""

    name: StepName
    progress: StepProgress
    at: datetime | None


_BEGINNING: Final = {StageName.SUBMITTED: StepName.SENT, StageName.SENT: StepName.SENT}
_TO_THE_PAYOUT: Final[Mapping[StageName, StepName]] = _BEGINNING | {
    StageName.FAILED: StepName.FAILED,
    StageName.CONFIRMED: StepName.FINAL,
    StageName.DECIDED: StepName.CHECKED,
    StageName.DELAYED: StepName.HELD,
    StageName.RELEASED: StepName.PAID_OUT,
}
_TO_THE_REFUND: Final[Mapping[StageName, StepName]] = _BEGINNING | {
    StageName.CONFIRMED: StepName.STOPPED,
    StageName.DECIDED: StepName.STOPPED,
    StageName.REFUND_REQUESTED: StepName.REFUND_REQUESTED,
    StageName.REFUND_PREPARED: StepName.REFUND_PREPARED,
    StageName.REFUND_SIGNED: StepName.REFUND_PREPARED,
    StageName.REFUND_SUBMITTED: StepName.REFUND_CONFIRMED,
    StageName.REFUND_DELAYED: StepName.REFUND_HELD,
    StageName.REFUNDED: StepName.REFUNDED,
}


def steps_of(stages: Iterable[Stage], status: Status) -> tuple[Step, ...]:
    """``stages`` are from ``stages_of`` for the same status. Those that contradict the status are left out:
    they come from facts that cannot all be true.
    """
    meaning = _TO_THE_REFUND if status in REFUND_STATUSES else _TO_THE_PAYOUT
    grouped: dict[StepName, list[Stage]] = {}
    for stage in stages:
        if stage.name in meaning:
            grouped.setdefault(meaning[stage.name], []).append(stage)
    return tuple(_step(name, group) for name, group in grouped.items())


def _step(name: StepName, group: Sequence[Stage]) -> Step:
    """The last stage of the group says whether the step is done; a current stage makes it current."""
    behind = (StepProgress.DONE, StepProgress.SKIPPED)
    if group[-1].progress in behind:
        return Step(name, StepProgress.DONE, max((stage.at for stage in group if stage.at), default=None))
    current = any(stage.progress is StepProgress.CURRENT for stage in group)
    return Step(name, StepProgress.CURRENT if current else StepProgress.TO_COME, None)


def step_label(name: StepName, situation: Situation, *, done: bool) -> str:
    text, src, dst = situation.reader.text, situation.source, situation.destination
    return {
        StepName.SENT: (text("Sent on %(chain)s", chain=src), text("Being sent on %(chain)s", chain=src)),
        StepName.FAILED: (text("Failed on %(chain)s", chain=src),) * 2,
        StepName.FINAL: (
            text("Final on %(chain)s", chain=src),
            text("Becomes final on %(chain)s", chain=src),
        ),
        StepName.CHECKED: (text("Checked by the bridge"), text("Check by the bridge")),
        StepName.HELD: (text("Held back for some time"),) * 2,
        StepName.PAID_OUT: (text("Paid out on %(chain)s", chain=dst), text("Payout on %(chain)s", chain=dst)),
        StepName.STOPPED: (text("Could not be completed"),) * 2,
        StepName.REFUND_REQUESTED: (text("Refund requested"), text("You request the refund")),
        StepName.REFUND_PREPARED: (text("Refund ready"), text("Refund is prepared")),
        StepName.REFUND_CONFIRMED: (text("Refund confirmed in a wallet"), text("You confirm the refund")),
        StepName.REFUND_HELD: (text("Held back for some time"),) * 2,
        StepName.REFUNDED: (
            text("Refunded on %(chain)s", chain=src),
            text("Refund on %(chain)s", chain=src),
        ),
    }[name][0 if done else 1]


YOUR_TRANSACTION: Final = message("Your transaction")
THE_PAYOUT: Final = message("The payout")
YOUR_REFUND: Final = message("Your refund")
"""The names of a transfer's transactions."""

ON_A_CHAIN: Final = {
    YOUR_TRANSACTION: message("Your transaction on %(chain)s"),
    THE_PAYOUT: message("The payout on %(chain)s"),
    YOUR_REFUND: message("Your refund on %(chain)s"),
}
"""The same where their chain is known."""


def how_sure(certainty: Certainty, chain: str, reader: Reader) -> str:
    """How sure the status is, in a sentence or two. ``chain`` is the name of the event's chain; empty where
    it is on none.
    """
    if certainty.level is Level.UNKNOWN:
        return reader.text("No block shows this transfer at the moment.")
    if certainty.level is Level.PROVEN:
        return reader.text(
            "We read this on %(chain)s ourselves and verified it. We have verified this chain up to block "
            "%(block)s.",
            chain=chain,
            block=reader.number(certainty.as_of_block or 0),
        )
    if certainty.reported_by is None:
        return reader.text("The contract checks this itself before it pays.")
    if not chain:
        return reader.text("The bridge reported this to us. It is a step that no chain shows.")
    if certainty.reported_by is ReportedBy.GATEWAY:
        return reader.text("We read this on %(chain)s ourselves. We have not verified it yet.", chain=chain)
    return reader.text(
        "The bridge reported this to us from %(chain)s. We have not verified it ourselves.", chain=chain
    )


class StepLine(Struct, frozen=True):
    """As :class:`Step`, with its label."""

    name: StepName
    label: str
    progress: StepProgress
    at: datetime | None


class SeenTransaction(Struct, frozen=True):
    """A transaction of the transfer; ``what`` names it and its chain, ``link`` is its page in the chain's
    explorer, https or empty.
    """

    what: str
    tx_hash: str
    link: str


class Pace(Struct, frozen=True):
    """How long transfers between these chains take from send to payout (None where none was paid out between
    them lately), and when this one was sent.
    """

    sent_at: datetime | None
    median: timedelta | None
    p90: timedelta | None
    now: datetime

    @property
    def usual_end(self) -> datetime | None:
        """When half of the transfers sent at the same time would have been paid out."""
        return None if self.sent_at is None or self.median is None else self.sent_at + self.median

    @property
    def slow_end(self) -> datetime | None:
        """When nine in ten of them would have been."""
        return None if self.sent_at is None or self.p90 is None else self.sent_at + self.p90

    @property
    def is_late(self) -> bool:
        """Whether it takes longer than nine in ten; than a status may last, where that is not known."""
        return self.sent_at is not None and self.now > self.sent_at + (self.p90 or WITHOUT_MEDIAN)


class Claim(Struct, frozen=True):
    """The call that pays the refund, for a wallet to send: ``call`` has its arguments. ``explorer`` is the
    address of the chain's explorer, https or empty. ``may_refuse`` says in words why the contract may refuse
    although the evidence is valid.
    """

    chain: str
    chain_id: int
    explorer: str
    contract: str
    call: ContractCall
    receiver: str
    may_refuse: Sequence[str]


class Held(Struct, frozen=True):
    """Funds in a contract's delay queue, and the call that any account may send after the delay. Values that
    were not reported are empty, or None.
    """

    chain: str
    contract: str
    call: ContractCall | None


class FollowedTransfer(Struct, frozen=True):
    """``transfer_id`` is lower-case hex with 0x; amounts are formatted for people, or empty. ``claim`` is set
    only at status 8, ``held`` only at 9 and 11 while funds wait in a queue. ``certainty`` says how sure the
    status is.
    """

    transfer_id: str
    status: Status
    explanation: Explanation
    progress: Progress
    steps: Sequence[StepLine]
    transactions: Sequence[SeenTransaction]
    src: str
    dst: str
    sent: str
    received: str
    sender: str
    receiver: str
    updated_at: datetime
    pace: Pace | None
    claim: Claim | None
    held: Held | None
    certainty: str


class NamedTransfer(Struct, frozen=True):
    transfer_id: str
    words: str
    headline: str


class ReadSoFar(Struct, frozen=True):
    """How far a chain was read: its highest block, None where no event named one, and its newest event."""

    chain: str
    block: BlockNumber | None
    age: timedelta


class NotSeen(Struct, frozen=True):
    """No transfer of the key is known. ``read`` are the configured chains, the newest first. ``ended`` is the
    status that the transfer had when it was pruned, None where it was never seen.
    """

    key: str
    ended: Status | None
    read: Sequence[ReadSoFar]
    next_poll_seconds: int


Followed = FollowedTransfer | Sequence[NamedTransfer] | NotSeen
"""The result for a key: one transfer, several of one transaction, or none."""
