"""From the standing events of a transfer to its status: the first line of the table that holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar, cast

from app.domain.codes import TransferHistoryStatus, XferStatus
from app.domain.events import (
    NetworkStatus,
    RefundCompleted,
    RefundPrepared,
    RefundRequested,
    RefundSigned,
    RefundSubmitted,
    TransferConfirmed,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)

T = TypeVar("T", bound=TransferEvent)


@dataclass(frozen=True, slots=True)
class StandingEvents:
    """The standing events of one transfer, by type, each type in the order of ``(at, id)``."""

    by_type: dict[type[TransferEvent], list[TransferEvent]]

    @classmethod
    def of(cls, events: Iterable[TransferEvent]) -> StandingEvents:
        """Group and sort ``events``."""
        by_type: dict[type[TransferEvent], list[TransferEvent]] = {}
        for event in sorted(events, key=lambda e: e.order):
            by_type.setdefault(type(event), []).append(event)
        return cls(by_type)

    def every(self, event_type: type[T]) -> list[T]:
        """All of one type, the earliest first."""
        return cast("list[T]", self.by_type.get(event_type, []))

    def first(self, event_type: type[T]) -> T | None:
        """The earliest of one type: it supplies links, amounts and times."""
        events = self.every(event_type)
        return events[0] if events else None

    @property
    def word(self) -> NetworkStatus | None:
        """The validator network's latest word."""
        words = self.every(NetworkStatus)
        return words[-1] if words else None


@dataclass(frozen=True, slots=True)
class RefundStanding:
    """What the judgement of the refund requests means for the status."""

    uncontradicted: bool = False
    """Whether a standing request is not contradicted by the facts."""
    at_quorum: bool = False
    """Whether exactly one request has valid signatures of a quorum."""


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """A transfer's status, its refund reason (0 unless status is 6) and since when it holds."""

    status: TransferHistoryStatus
    refund_reason: XferStatus
    since: datetime | None


Evidence = Callable[[StandingEvents, RefundStanding], TransferEvent | None]


def _word(*values: XferStatus) -> Evidence:
    def says(events: StandingEvents, _refund: RefundStanding) -> TransferEvent | None:
        word = events.word
        return word if word is not None and word.xfer_status in values else None

    return says


def _stands(event_type: type[TransferEvent]) -> Evidence:
    def says(events: StandingEvents, _refund: RefundStanding) -> TransferEvent | None:
        return events.first(event_type)

    return says


def _either(*sources: Evidence) -> Evidence:
    def says(events: StandingEvents, refund: RefundStanding) -> TransferEvent | None:
        found = (source(events, refund) for source in sources)
        return next((event for event in found if event is not None), None)

    return says


def _at_quorum(events: StandingEvents, refund: RefundStanding) -> TransferEvent | None:
    signatures = events.every(RefundSigned)
    return signatures[-1] if refund.at_quorum and signatures else None


def _prepared(events: StandingEvents, refund: RefundStanding) -> TransferEvent | None:
    return events.first(RefundPrepared) if refund.uncontradicted else None


_S = TransferHistoryStatus
_X = XferStatus
_BAD = tuple(value for value in XferStatus if value.is_bad)

TABLE: tuple[tuple[TransferHistoryStatus, Evidence], ...] = (
    (_S.TRANSFER_REFUNDED, _either(_stands(RefundCompleted), _word(_X.REFUND_DONE))),
    (_S.TRANSFER_COMPLETED, _stands(TransferReleased)),
    (_S.TRANSFER_DELAYED, _stands(TransferDelayed)),
    (_S.TRANSFER_CONFIRMING_YOUR_REFUND, _stands(RefundSubmitted)),
    (_S.TRANSFER_REFUND_TO_BE_CONFIRMED, _at_quorum),
    (
        _S.TRANSFER_REQUESTING_REFUND,
        _either(_stands(RefundRequested), _prepared, _word(_X.REFUND_REQUESTED)),
    ),
    (_S.TRANSFER_TO_BE_REFUNDED, _word(*_BAD)),
    (_S.TRANSFER_WAITING_FOR_FUND_RELEASE, _word(_X.SUCCESS)),
    (
        _S.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        _either(_stands(TransferConfirmed), _word(_X.OK_TO_RELAY)),
    ),
    (_S.TRANSFER_SUBMITTING, _stands(TransferSent)),
    (_S.TRANSFER_FAILED, _stands(TransferFailed)),
    (_S.TRANSFER_SUBMITTING, _stands(TransferSubmitted)),
)


def status_of(events: StandingEvents, refund: RefundStanding) -> StatusAnswer:
    """The status that the standing events tell.

    What cannot be together (a refund and a release) is answered by the order of the table and
    raised as an anomaly elsewhere. A transfer of which nothing stands is TRANSFER_UNKNOWN.
    """
    for status, evidence in TABLE:
        decided_by = evidence(events, refund)
        if decided_by is not None:
            reason = XferStatus.UNKNOWN
            if status is _S.TRANSFER_TO_BE_REFUNDED:
                reason = cast("NetworkStatus", decided_by).xfer_status
            return StatusAnswer(status, reason, decided_by.at)
    return StatusAnswer(_S.TRANSFER_UNKNOWN, XferStatus.UNKNOWN, None)
