"""The status of a transfer from its canonical events (docs/interface/status.md#status-table)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, TypeVar

from msgspec import Struct

from app.transfers.rules.events.contract_ids import is_proven
from app.transfers.rules.events.event_types import (
    NetworkStatus,
    RefundCompleted,
    RefundDelayed,
    RefundFailed,
    RefundRequested,
    RefundSubmitted,
    TransferConfirmed,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)
from app.values.codes import TransferHistoryStatus, XferStatus

T = TypeVar("T", bound=TransferEvent)


WITHDRAWS: Final = (RefundSubmitted, RefundDelayed, RefundCompleted)
"""Reports of the user's withdraw: in a block, in the contract's queue, paid."""


class CanonicalEvents(Struct, frozen=True):
    """The canonical events of one transfer, by type, each type in its order (``Event.order``)."""

    by_type: dict[type[TransferEvent], list[TransferEvent]]
    announced_at: datetime | None = None
    """Time of the first submission by limited reporters that gives status 1 and describes nothing."""

    @classmethod
    def of(cls, events: Iterable[TransferEvent], announced_at: datetime | None = None) -> CanonicalEvents:
        """Group and sort ``events``: of sends the proven ones come first."""
        by_type: dict[type[TransferEvent], list[TransferEvent]] = {}
        for event in events:
            by_type.setdefault(type(event), []).append(event)
        for of_type in by_type.values():
            if len(of_type) > 1:
                of_type.sort(key=_rank)
        return cls(by_type, announced_at)

    def add(self, event: TransferEvent) -> None:
        insort(self.by_type.setdefault(type(event), []), event, key=_rank)

    def events(self) -> Iterable[TransferEvent]:
        return (event for events in self.by_type.values() for event in events)

    def every(self, event_type: type[T]) -> list[T]:
        """The events of one type, the earliest first."""
        return self.by_type.get(event_type, [])  # type: ignore[return-value]  # each type has events of its own

    def first(self, event_type: type[T]) -> T | None:
        """The earliest of one type: it supplies links, amounts and times."""
        events = self.by_type.get(event_type)
        return events[0] if events else None  # type: ignore[return-value]  # as in every()

    @property
    def network_status(self) -> NetworkStatus | None:
        """The validators' latest status."""
        statuses = self.every(NetworkStatus)
        return statuses[-1] if statuses else None

    @property
    def refunds_under_way(self) -> list[RefundSubmitted]:
        """The user's withdraws that no ``refund.failed`` of the same transaction cancels."""
        failed = {failure.tx_hash for failure in self.every(RefundFailed)}
        return [refund for refund in self.every(RefundSubmitted) if refund.tx_hash not in failed]

    @property
    def withdraws(self) -> list[TransferEvent]:
        """The reports of the user's withdraw that no ``refund.failed`` cancels."""
        return [*self.refunds_under_way, *self.every(RefundDelayed), *self.every(RefundCompleted)]

    @property
    def is_withdraw_taken(self) -> bool:
        """Whether the contract took the user's withdraw, final or not. Its id is used up then."""
        latest = self.network_status
        return bool(self.withdraws or (latest is not None and latest.xfer_status is XferStatus.REFUND_DONE))


def _rank(event: TransferEvent) -> tuple[Any, ...]:
    return not is_proven(event), *event.order


class RefundFacts(Struct, frozen=True):
    prepared_at: datetime | None = None
    """Time of the earliest canonical request that no fact contradicts."""
    quorum_at: datetime | None = None
    """Time from which exactly one request had valid signatures of a quorum."""
    requested_at: datetime | None = None
    """When its user requested it. Anybody can do that, so it is no fact and only counts at status 6."""


class StatusAnswer(Struct, frozen=True):
    """A transfer's status, its refund reason (0 unless the status is 6) and since when it has it."""

    status: TransferHistoryStatus
    refund_reason: XferStatus
    since: datetime | None


Sign = Callable[[CanonicalEvents, RefundFacts], datetime | None]
"""Since when a line of the table applies; None where it does not."""


def _network_says(*values: XferStatus) -> Sign:
    def since(events: CanonicalEvents, _refund: RefundFacts) -> datetime | None:
        network_status = events.network_status
        return (
            network_status.at if network_status is not None and network_status.xfer_status in values else None
        )

    return since


def _has(event_type: type[TransferEvent]) -> Sign:
    def since(events: CanonicalEvents, _refund: RefundFacts) -> datetime | None:
        event = events.first(event_type)
        return event.at if event is not None else None

    return since


def _refund_under_way(events: CanonicalEvents, _refund: RefundFacts) -> datetime | None:
    refunds = events.refunds_under_way
    return refunds[0].at if refunds else None


def _quorum(_events: CanonicalEvents, refund: RefundFacts) -> datetime | None:
    return refund.quorum_at


def _prepared(_events: CanonicalEvents, refund: RefundFacts) -> datetime | None:
    return refund.prepared_at


def _announced(events: CanonicalEvents, _refund: RefundFacts) -> datetime | None:
    return events.announced_at


_S = TransferHistoryStatus
_X = XferStatus
_BAD = tuple(value for value in XferStatus if value.is_bad)

TABLE: tuple[tuple[TransferHistoryStatus, tuple[Sign, ...]], ...] = (
    (_S.TRANSFER_REFUNDED, (_has(RefundCompleted), _network_says(_X.REFUND_DONE))),
    (_S.TRANSFER_COMPLETED, (_has(TransferReleased),)),
    (_S.TRANSFER_DELAYED, (_has(TransferDelayed),)),
    (_S.TRANSFER_CONFIRMING_YOUR_REFUND, (_refund_under_way, _has(RefundDelayed))),
    (_S.TRANSFER_REFUND_TO_BE_CONFIRMED, (_quorum,)),
    (
        _S.TRANSFER_REQUESTING_REFUND,
        (_has(RefundRequested), _prepared, _network_says(_X.REFUND_REQUESTED)),
    ),
    (_S.TRANSFER_TO_BE_REFUNDED, (_network_says(*_BAD),)),
    (_S.TRANSFER_WAITING_FOR_FUND_RELEASE, (_network_says(_X.SUCCESS),)),
    (_S.TRANSFER_WAITING_FOR_NET_CONFIRMATION, (_has(TransferConfirmed), _network_says(_X.OK_TO_RELAY))),
    (_S.TRANSFER_SUBMITTING, (_has(TransferSent),)),
    (_S.TRANSFER_FAILED, (_has(TransferFailed),)),
    (_S.TRANSFER_SUBMITTING, (_has(TransferSubmitted), _announced)),
)


def status_of(events: CanonicalEvents, refund: RefundFacts) -> StatusAnswer:
    """The status of the first line of the table that has any of its signs: the order decides where facts
    contradict each other. A user's request for the refund only moves a transfer from 6 to 7
    (docs/api/withdrawLiquidity.md#rules).
    """
    for status, signs in TABLE:
        first: datetime | None = None
        for sign in signs:
            time = sign(events, refund)
            if time is not None and (first is None or time < first):
                first = time
        if first is not None:
            if status is _S.TRANSFER_TO_BE_REFUNDED and refund.requested_at is not None:
                since = max(refund.requested_at, first)
                return StatusAnswer(_S.TRANSFER_REQUESTING_REFUND, _X.UNKNOWN, since)
            network_status = events.network_status
            reason = (
                network_status.xfer_status
                if network_status and status is _S.TRANSFER_TO_BE_REFUNDED
                else _X.UNKNOWN
            )
            return StatusAnswer(status, reason, first)
    return StatusAnswer(_S.TRANSFER_UNKNOWN, _X.UNKNOWN, None)
