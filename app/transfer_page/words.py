"""The progress of a transfer as a few steps, and every status and refund reason in plain words for people.

Written for users who know only their wallet, without the terms of the bridge. The page for waiting users and
the console's replies to users take all their sentences from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.transfers.stages import Progress, Stage, StageName
from app.values.codes import REFUND_STATUSES, XferStatus
from app.values.codes import TransferHistoryStatus as Status


class StepName(StrEnum):
    """The steps, in the order in which they happen."""

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
    progress: Progress
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
    """The steps of a transfer by its status.

    Stages that contradict the status are left out: they come from facts that cannot all be true.

    :param stages: from ``stages_of`` for the same status.
    """
    meaning = _TO_THE_REFUND if status in REFUND_STATUSES else _TO_THE_PAYOUT
    grouped: dict[StepName, list[Stage]] = {}
    for stage in stages:
        if stage.name in meaning:
            grouped.setdefault(meaning[stage.name], []).append(stage)
    return tuple(_step(name, group) for name, group in grouped.items())


def _step(name: StepName, group: Sequence[Stage]) -> Step:
    """A step of several stages. The last stage says whether it is done; a current stage makes it current."""
    behind = (Progress.DONE, Progress.SKIPPED)
    if group[-1].progress in behind:
        return Step(name, Progress.DONE, max((stage.at for stage in group if stage.at), default=None))
    current = any(stage.progress is Progress.CURRENT for stage in group)
    return Step(name, Progress.CURRENT if current else Progress.TO_COME, None)


REFUSED_BECAUSE: Final[dict[XferStatus, str]] = {
    XferStatus.BAD_LIQUIDITY: "there was not enough of the token available on the destination chain",
    XferStatus.BAD_SLIPPAGE: "the price moved further than the slippage you allowed",
    XferStatus.BAD_TOKEN: "the token could not be paid out on the destination chain",
    XferStatus.BAD_XFER_DISABLED: "transfers of this token were turned off",
    XferStatus.BAD_DEST_CHAIN: "the destination chain is not available",
}
"""Why a transfer is refunded, to be read after "because"."""

YOUR_TRANSACTION: Final = "Your transaction"
THE_PAYOUT: Final = "The payout"
YOUR_REFUND: Final = "Your refund"
"""The names of a transfer's transactions."""

_SAFE: Final = "Your funds are safe."
_NOTHING_TO_DO: Final = "There is nothing you need to do."
_IF_NOT_SHOWN: Final = (
    "If your wallet does not show it, please make sure that it is set to that chain and shows that token."
)


class Situation(Struct, frozen=True):
    """What the words depend on. A text is empty where its fact is not known.

    ``amount`` and ``paid_out`` are formatted for people, such as ``25 USDT``; ``src`` and ``dst`` are names
    of chains. ``in_a_block``: the source transaction is in a block. ``refund_held``: the refund was taken by
    the contract and waits in its delay queue.
    """

    status: Status
    refund_reason: XferStatus = XferStatus.UNKNOWN
    amount: str = ""
    paid_out: str = ""
    src: str = ""
    dst: str = ""
    sender: str = ""
    receiver: str = ""
    in_a_block: bool = True
    block_delay: int = 0
    refund_held: bool = False

    @property
    def transfer(self) -> str:
        """Such as "Your transfer of 25 USDT from Ethereum to BNB Chain", as far as it is known."""
        of = f" of {self.amount}" if self.amount else ""
        origin = f" from {self.src}" if self.src else ""
        to = f" to {self.dst}" if self.dst else ""
        return f"Your transfer{of}{origin}{to}"

    @property
    def source(self) -> str:
        """The source chain's name."""
        return self.src or "the source chain"

    @property
    def destination(self) -> str:
        """The destination chain's name."""
        return self.dst or "the destination chain"


class Explanation(Struct, frozen=True):
    """A situation in words: a headline, where the money is, and what happens next and who acts."""

    headline: str
    now: str
    next: str

    @property
    def text(self) -> str:
        """One paragraph, without the headline."""
        return f"{self.now} {self.next}"


def explain(situation: Situation) -> Explanation:
    """The words for a situation."""
    return _EXPLANATIONS[situation.status](situation)


def step_label(name: StepName, situation: Situation, *, done: bool) -> str:
    """The name of a step, after it is done or before."""
    src, dst = situation.source, situation.destination
    return {
        StepName.SENT: (f"Sent on {src}", f"Being sent on {src}"),
        StepName.FAILED: (f"Failed on {src}", f"Failed on {src}"),
        StepName.FINAL: (f"Final on {src}", f"Becomes final on {src}"),
        StepName.CHECKED: ("Checked by the bridge", "Check by the bridge"),
        StepName.HELD: ("Held back for some time", "Held back for some time"),
        StepName.PAID_OUT: (f"Paid out on {dst}", f"Payout on {dst}"),
        StepName.STOPPED: ("Could not be completed", "Could not be completed"),
        StepName.REFUND_REQUESTED: ("Refund requested", "You request the refund"),
        StepName.REFUND_PREPARED: ("Refund ready", "Refund gets ready"),
        StepName.REFUND_CONFIRMED: ("Refund confirmed in a wallet", "You confirm the refund"),
        StepName.REFUND_HELD: ("Held back for some time", "Held back for some time"),
        StepName.REFUNDED: (f"Paid back on {src}", f"Payment back on {src}"),
    }[name][0 if done else 1]


def _unknown(of: Situation) -> Explanation:
    return Explanation(
        "Its transaction is not in the chain any more",
        f"{of.transfer} was seen on {of.source}, but its transaction is no longer there: usually because the "
        "chain replaced the block that it was in.",
        "Most often it is included again in minutes, and the transfer continues by itself. Please look at "
        "the transaction in your wallet. If your wallet says that it failed or was dropped, nothing was "
        "taken, and you can send again.",
    )


def _submitting(of: Situation) -> Explanation:
    if not of.in_a_block:
        return Explanation(
            f"Waiting for {of.source}",
            f"{of.transfer} was announced, and we are waiting for {of.source} to include its transaction in "
            "a block.",
            "If it takes long, please look at the transaction in your wallet: a higher gas fee may help.",
        )
    blocks = f" ({of.block_delay} blocks)" if of.block_delay else ""
    return Explanation(
        f"Received on {of.source}",
        f"{of.transfer} has been received on {of.source}. We are waiting until its block is final{blocks}.",
        f"After that it is checked and paid out on {of.destination}. {_NOTHING_TO_DO}",
    )


def _failed(of: Situation) -> Explanation:
    return Explanation(
        "The transfer failed, and nothing was taken",
        f"{of.transfer} failed on {of.source}: its transaction was reverted or dropped, so nothing was taken "
        "from your wallet except, at most, the gas fee.",
        "There is nothing to refund. You can send again; most transactions fail because the slippage is set "
        "too low or the gas runs out.",
    )


def _being_checked(of: Situation) -> Explanation:
    return Explanation(
        "Being checked",
        f"{of.transfer} is final on {of.source} and is being checked by the bridge.",
        f"After that it is paid out on {of.destination}. {_SAFE} {_NOTHING_TO_DO}",
    )


def _to_be_released(of: Situation) -> Explanation:
    return Explanation(
        f"About to be paid out on {of.destination}",
        f"{of.transfer} has been checked and is about to be paid out on {of.destination}.",
        f"{_SAFE} {_NOTHING_TO_DO}",
    )


def _completed(of: Situation) -> Explanation:
    paid = f" ({of.paid_out})" if of.paid_out else ""
    return Explanation(
        f"Paid out on {of.destination}",
        f"{of.transfer} is complete: it was paid out on {of.destination}{paid} to {of.receiver or 'you'}.",
        _IF_NOT_SHOWN,
    )


def _to_be_refunded(of: Situation) -> Explanation:
    why = REFUSED_BECAUSE.get(of.refund_reason, "it could not be carried out")
    return Explanation(
        "It could not be completed: request your refund",
        f"{of.transfer} could not be completed because {why}. {_SAFE}",
        f"It will be refunded on {of.source}: please open the transfer in the app you sent it from and "
        "request the refund. When it is ready, you confirm it there with one transaction, for which you pay "
        "the gas.",
    )


def _refund_being_prepared(of: Situation) -> Explanation:
    return Explanation(
        "Your refund is being prepared",
        f"{of.transfer} could not be completed, and its refund on {of.source} is being prepared. {_SAFE}",
        "As soon as it is ready, the app you sent it from will ask you to confirm it with one transaction on "
        f"{of.source}, for which you pay the gas.",
    )


def _refund_ready(of: Situation) -> Explanation:
    return Explanation(
        "Your refund is ready: confirm it",
        f"The refund of your transfer is ready. {of.transfer} could not be completed. {_SAFE}",
        "To get your funds back, please open the transfer in the app you sent it from and confirm the refund."
        f" That is one transaction on {of.source}, for which you pay the gas.",
    )


def _refund_confirming(of: Situation) -> Explanation:
    if of.refund_held:
        return Explanation(
            "Your refund is held back for some time",
            f"The refund of your transfer has been granted on {of.source} and is waiting there: large "
            f"amounts are held back for some time as a safeguard before they are paid. {_SAFE}",
            "Please do not confirm the refund again: that would only cost gas.",
        )
    return Explanation(
        "Your refund is on its way",
        f"The refund of your transfer is on its way: its transaction is on {of.source}, and we are waiting "
        "until its block is final.",
        _NOTHING_TO_DO,
    )


def _refunded(of: Situation) -> Explanation:
    amount = f" of {of.amount}" if of.amount else ""
    to = of.sender or "the account it was sent from"
    return Explanation(
        f"Refunded on {of.source}",
        f"Your transfer{amount} was refunded on {of.source} to {to}.",
        _IF_NOT_SHOWN,
    )


def _delayed(of: Situation) -> Explanation:
    return Explanation(
        "Held back for some time, then paid out",
        f"{of.transfer} is waiting on {of.destination}: large payouts are held back for some time as a "
        "safeguard and are then paid out automatically.",
        f"{_SAFE} {_NOTHING_TO_DO}",
    )


_EXPLANATIONS: Final[dict[Status, Callable[[Situation], Explanation]]] = {
    Status.TRANSFER_UNKNOWN: _unknown,
    Status.TRANSFER_SUBMITTING: _submitting,
    Status.TRANSFER_FAILED: _failed,
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: _being_checked,
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: _to_be_released,
    Status.TRANSFER_COMPLETED: _completed,
    Status.TRANSFER_TO_BE_REFUNDED: _to_be_refunded,
    Status.TRANSFER_REQUESTING_REFUND: _refund_being_prepared,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: _refund_ready,
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: _refund_confirming,
    Status.TRANSFER_REFUNDED: _refunded,
    Status.TRANSFER_DELAYED: _delayed,
}
