"""The shapes of what the page shows (docs/decisions/0046-the-page-of-a-transfer.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from app.refunds.call import ContractCall
from app.transfer_page.steps import StepName
from app.transfer_page.words import Explanation
from app.transfers.progress import Progress
from app.transfers.stages import Progress as StepProgress
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber


class StepLine(Struct, frozen=True):
    """One step of the transfer; ``at`` is when it was done, None while it is not, or not known."""

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
    """How long transfers between these chains take from send to payout, and when this one was sent.

    All None where no transfer was paid out between them lately.
    """

    sent_at: datetime | None
    median: timedelta
    p90: timedelta
    now: datetime

    @property
    def usual_end(self) -> datetime | None:
        """When half of the transfers sent at the same time would have been paid out."""
        return None if self.sent_at is None else self.sent_at + self.median

    @property
    def slow_end(self) -> datetime | None:
        """When nine in ten of them would have been."""
        return None if self.sent_at is None else self.sent_at + self.p90

    @property
    def is_late(self) -> bool:
        """Whether this one already takes longer than nine in ten."""
        return self.slow_end is not None and self.now > self.slow_end


class Claim(Struct, frozen=True):
    """The call that pays the refund, for a wallet to send: ``call`` has its arguments.

    ``explorer`` is the address of the chain's explorer, https or empty. ``may_refuse`` says in words why the
    contract may refuse although the evidence is valid.
    """

    chain: str
    chain_id: int
    explorer: str
    contract: str
    call: ContractCall
    receiver: str
    may_refuse: Sequence[str]


class Held(Struct, frozen=True):
    """Funds in a contract's delay queue, and the call that any account may send after the delay.

    Values that were not reported are empty, or None.
    """

    chain: str
    contract: str
    call: ContractCall | None


class FollowedTransfer(Struct, frozen=True):
    """One transfer. ``transfer_id`` is lower-case hex with 0x; amounts are formatted for people, or empty.

    ``claim`` is set only at status 8, ``held`` only at 9 and 11 while funds wait in a queue.
    ``certainty`` says how sure the status is.
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
    """One of several transfers of a transaction, in a line."""

    transfer_id: str
    words: str
    headline: str


class ReadSoFar(Struct, frozen=True):
    """How far a chain was read: its highest block, None where no event named one, and its newest event."""

    chain: str
    block: BlockNumber | None
    age: timedelta


class NotSeen(Struct, frozen=True):
    """No transfer of the key is known. ``read`` are the configured chains, the newest first.

    ``ended`` is the status that the transfer had when it was pruned, None where it was never seen.
    """

    key: str
    ended: Status | None
    read: Sequence[ReadSoFar]
    next_poll_seconds: int


Followed = FollowedTransfer | Sequence[NamedTransfer] | NotSeen
"""The result for a key: one transfer, several of one transaction, or none."""
