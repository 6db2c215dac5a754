"""The stages of a transfer, and which transfers have been at one for too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from app.transfers.rules.events.event_types import (
    NetworkStatus,
    RefundCompleted,
    RefundDelayed,
    RefundPrepared,
    RefundRequested,
    RefundSigned,
    TransferConfirmed,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.status import CanonicalEvents
from app.values.codes import REFUND_STATUSES, RESTING_STATUSES, XferStatus
from app.values.codes import TransferHistoryStatus as Status


class StageName(StrEnum):
    SUBMITTED = "submitted"
    SENT = "sent"
    FAILED = "failed"
    CONFIRMED = "confirmed"
    DECIDED = "decided"
    DELAYED = "delayed"
    RELEASED = "released"
    REFUND_REQUESTED = "refund_requested"
    REFUND_PREPARED = "refund_prepared"
    REFUND_SIGNED = "refund_signed"
    REFUND_SUBMITTED = "refund_submitted"
    REFUND_DELAYED = "refund_delayed"
    REFUNDED = "refunded"


class Progress(StrEnum):
    """How far a transfer is with a stage. ``SKIPPED``: it was never reported, but a later one was."""

    DONE = "done"
    CURRENT = "current"
    TO_COME = "to_come"
    SKIPPED = "skipped"


class Stage(Struct, frozen=True):
    """One stage; ``at`` is the time of the first event that reports it, as ``CanonicalEvents`` has them."""

    name: StageName
    progress: Progress
    at: datetime | None
    event_ids: tuple[str, ...]


Sign = Callable[[CanonicalEvents], list[TransferEvent]]


def _of(event_type: type[TransferEvent]) -> Sign:
    def events(canonical: CanonicalEvents) -> list[TransferEvent]:
        return canonical.every(event_type)

    return events


def _network_says(*statuses: XferStatus) -> Sign:
    def events(canonical: CanonicalEvents) -> list[TransferEvent]:
        return [event for event in canonical.every(NetworkStatus) if event.xfer_status in statuses]

    return events


def _either(*signs: Sign) -> Sign:
    """The events of several signs, those of the sign that was reported first in front. Each keeps its own
    order: events of different types cannot be compared by theirs.
    """

    def events(canonical: CanonicalEvents) -> list[TransferEvent]:
        reported = [events for sign in signs if (events := sign(canonical))]
        return [event for events in sorted(reported, key=lambda events: events[0].at) for event in events]

    return events


def _refund_under_way(canonical: CanonicalEvents) -> list[TransferEvent]:
    return [*canonical.refunds_under_way]


_BAD: Final = tuple(status for status in XferStatus if status.is_bad)

_START: Final[tuple[tuple[StageName, Sign], ...]] = (
    (StageName.SUBMITTED, _of(TransferSubmitted)),
    (StageName.SENT, _of(TransferSent)),
)
_DECISION: Final[tuple[tuple[StageName, Sign], ...]] = (
    (StageName.CONFIRMED, _either(_of(TransferConfirmed), _network_says(XferStatus.OK_TO_RELAY))),
    (StageName.DECIDED, _network_says(XferStatus.SUCCESS, *_BAD)),
)
_PAYOUT: Final[tuple[tuple[StageName, Sign], ...]] = ((StageName.RELEASED, _of(TransferReleased)),)
_DELAY: Final[tuple[tuple[StageName, Sign], ...]] = ((StageName.DELAYED, _of(TransferDelayed)),)
_REFUND: Final[tuple[tuple[StageName, Sign], ...]] = (
    (StageName.REFUND_REQUESTED, _either(_of(RefundRequested), _network_says(XferStatus.REFUND_REQUESTED))),
    (StageName.REFUND_PREPARED, _of(RefundPrepared)),
    (StageName.REFUND_SIGNED, _of(RefundSigned)),
    (StageName.REFUND_SUBMITTED, _refund_under_way),
)
_REFUND_DELAY: Final[tuple[tuple[StageName, Sign], ...]] = ((StageName.REFUND_DELAYED, _of(RefundDelayed)),)
_REPAYMENT: Final[tuple[tuple[StageName, Sign], ...]] = (
    (StageName.REFUNDED, _either(_of(RefundCompleted), _network_says(XferStatus.REFUND_DONE))),
)
_FAILURE: Final[tuple[tuple[StageName, Sign], ...]] = ((StageName.FAILED, _of(TransferFailed)),)

_REACHED: Final[dict[Status, StageName]] = {
    Status.TRANSFER_FAILED: StageName.FAILED,
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: StageName.CONFIRMED,
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: StageName.DECIDED,
    Status.TRANSFER_COMPLETED: StageName.RELEASED,
    Status.TRANSFER_DELAYED: StageName.DELAYED,
    Status.TRANSFER_TO_BE_REFUNDED: StageName.DECIDED,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: StageName.REFUND_SIGNED,
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: StageName.REFUND_SUBMITTED,
    Status.TRANSFER_REFUNDED: StageName.REFUNDED,
}
"""The last stage that is done at a status. For other statuses the reported events decide."""


def stages_of(
    canonical: CanonicalEvents, status: Status, requested_at: datetime | None = None
) -> tuple[Stage, ...]:
    """The first stage that is not done is the current one, unless the transfer is over or has no canonical
    event. Signatures short of a quorum are shown, but the stage of signing is not done.

    :param requested_at: when the user requested the refund. That begins it where no event does.
    """
    found = [(name, sign(canonical)) for name, sign in _path(canonical, status)]
    reached = _reached(found, status)
    if requested_at is not None and status is Status.TRANSFER_REQUESTING_REFUND:
        reached = max(reached, [name for name, _ in found].index(StageName.REFUND_REQUESTED) + 1)
    stages = _stages(found, reached, at_rest=status in RESTING_STATUSES)
    return tuple(_begun(stage, requested_at) for stage in stages)


def _begun(stage: Stage, requested_at: datetime | None) -> Stage:
    """Where no event reports that the refund began, it began when the user requested it."""
    if stage.name is not StageName.REFUND_REQUESTED or stage.at is not None or requested_at is None:
        return stage
    progress = Progress.DONE if stage.progress is Progress.SKIPPED else stage.progress
    return replace(stage, progress=progress, at=requested_at)


def _path(canonical: CanonicalEvents, status: Status) -> tuple[tuple[StageName, Sign], ...]:
    """The ordinary stages, and those that have reported events."""
    if status is Status.TRANSFER_FAILED:
        return (*_START[:1], *_FAILURE)
    delayed = status is Status.TRANSFER_DELAYED or canonical.every(TransferDelayed)
    delay = _DELAY if delayed else ()
    refund_path = (*_REFUND, *(_REFUND_DELAY if canonical.every(RefundDelayed) else ()), *_REPAYMENT)
    if status in REFUND_STATUSES:
        payout = _PAYOUT if canonical.every(TransferReleased) else ()
        return (*_START, *_DECISION, *delay, *payout, *refund_path)
    refund = tuple(stage for stage in refund_path if stage[1](canonical))
    return (*_START, *_DECISION, *refund, *delay, *_PAYOUT)


def _reached(found: list[tuple[StageName, list[TransferEvent]]], status: Status) -> int:
    names = [name for name, _ in found]
    if status is Status.TRANSFER_CONFIRMING_YOUR_REFUND and StageName.REFUND_DELAYED in names:
        return names.index(StageName.REFUND_DELAYED) + 1
    if status in _REACHED:
        return names.index(_REACHED[status]) + 1
    signing = StageName.REFUND_SIGNED
    reported = (number for number, (name, events) in enumerate(found, 1) if events and name is not signing)
    return max(reported, default=0)


def _stages(
    found: list[tuple[StageName, list[TransferEvent]]], reached: int, *, at_rest: bool
) -> Iterator[Stage]:
    for number, (name, events) in enumerate(found, 1):
        if number <= reached:
            progress = Progress.DONE if events or number == reached else Progress.SKIPPED
        elif number == reached + 1 and not at_rest:
            progress = Progress.CURRENT
        else:
            progress = Progress.TO_COME
        yield Stage(name, progress, events[0].at if events else None, tuple(event.id for event in events))


Pair = tuple[int, int]
"""Source chain id, destination chain id."""

TIMES_THE_MEDIAN: Final = 3
WITHOUT_MEDIAN: Final = timedelta(hours=1)
"""How long a state may last where the two chains are not known or had no release in the last 7 days."""


class MustAct(StrEnum):
    """Who has to act before a transfer moves on. Each has its own list."""

    BRIDGE = "bridge"
    USER = "user"


STATUSES: Final[Mapping[MustAct, tuple[Status, ...]]] = {
    MustAct.BRIDGE: (
        Status.TRANSFER_SUBMITTING,
        Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        Status.TRANSFER_WAITING_FOR_FUND_RELEASE,
        Status.TRANSFER_REQUESTING_REFUND,
        Status.TRANSFER_CONFIRMING_YOUR_REFUND,
        Status.TRANSFER_DELAYED,
    ),
    MustAct.USER: (Status.TRANSFER_TO_BE_REFUNDED, Status.TRANSFER_REFUND_TO_BE_CONFIRMED),
}
"""The states of each list. The user has to request a refund (6) and to claim it (8)."""


class Thresholds(Struct, frozen=True):
    by_pair: Mapping[Pair, timedelta] = field(default_factory=dict)

    @classmethod
    def of(cls, twice_medians: Mapping[Pair, int]) -> Thresholds:
        """Three times each median, rounded down to a microsecond. ``twice_medians`` are in microseconds."""
        return cls({pair: _threshold(twice) for pair, twice in twice_medians.items()})

    def allowed(self, src_chain_id: int | None, dst_chain_id: int | None) -> timedelta:
        if src_chain_id is None or dst_chain_id is None:
            return WITHOUT_MEDIAN
        return self.by_pair.get((src_chain_id, dst_chain_id), WITHOUT_MEDIAN)

    @property
    def least(self) -> timedelta:
        """No transfer is stuck before it."""
        return min([WITHOUT_MEDIAN, *self.by_pair.values()])

    @property
    def longest(self) -> timedelta:
        """After it every transfer is stuck."""
        return max([WITHOUT_MEDIAN, *self.by_pair.values()])


def _threshold(twice_median: int) -> timedelta:
    return timedelta(microseconds=TIMES_THE_MEDIAN * twice_median // 2)
