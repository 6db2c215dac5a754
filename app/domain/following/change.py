"""One change of a transfer's status: when there is one, what it takes back, and what is told of it.

Streams (docs/waiting.md) and webhooks (docs/webhooks.md#events) tell the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.domain.codes import TransferHistoryStatus, XferStatus
from app.domain.keys import TransferId, account_key
from app.domain.times import rfc3339
from app.domain.transfer.lifecycle import TABLE, StatusAnswer

STATUS_EVENT: Final = "transfer.status"

_STATUSES: Final = [status for status, _ in TABLE]
_RANKS: Final = {status: _STATUSES.index(status) for status in _STATUSES}
"""The first line of the status table that gives each status: the lower, the more it outranks."""

_ANNOUNCED: Final = len(_STATUSES) - 1
"""The line of a transfer that is announced and not sent. Its status is that of a sent one, too."""

_NOTHING: Final = len(_STATUSES)


@dataclass(frozen=True, slots=True)
class StatusThen:
    """A status, the ``account_key`` of each account that it was listed under, and whether its send stood."""

    answer: StatusAnswer
    accounts: frozenset[str]
    is_sent: bool

    @property
    def rank(self) -> int:
        """The line of the status table that the transfer is at.

        A status of a lower line follows only when none of the signs of the former holds any more.
        """
        if self.answer.status is TransferHistoryStatus.TRANSFER_SUBMITTING and not self.is_sent:
            return _ANNOUNCED
        return _RANKS.get(self.answer.status, _NOTHING)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A status that follows another one.

    ``accounts``: what it is and was listed under. ``taken_back``: what the previous status rested on does not
    hold any more.
    """

    transfer_id: TransferId
    status: TransferHistoryStatus
    previous_status: TransferHistoryStatus
    refund_reason: XferStatus
    accounts: frozenset[str]
    taken_back: bool

    def event(self, at: datetime, seq: int) -> dict[str, Any]:
        """What is told, as JSON writes it.

        :param at: when the gateway learned of the change.
        :param seq: the position of the event log that the status follows from.
        """
        data: dict[str, Any] = {
            "transfer_id": f"0x{self.transfer_id.hex()}",
            "status": int(self.status),
            "previous_status": int(self.previous_status),
            "refund_reason": int(self.refund_reason),
            "seq": seq,
        }
        if self.taken_back:
            data["taken_back"] = True
        return event_of(STATUS_EVENT, at, data)


def account_keys(*accounts: str | None) -> frozenset[str]:
    """The ``account_key`` of each account that is known."""
    return frozenset(account_key(account) for account in accounts if account)


def change_between(
    transfer_id: TransferId, before: StatusThen | None, after: StatusThen
) -> StatusChange | None:
    """The change from one moment to a later one; None where the status is the same.

    :param before: None where there was no transfer, which counts as one whose status is not known.
    """
    previous = TransferHistoryStatus.TRANSFER_UNKNOWN if before is None else before.answer.status
    if previous is after.answer.status:
        return None
    return StatusChange(
        transfer_id,
        after.answer.status,
        previous,
        after.answer.refund_reason,
        after.accounts if before is None else before.accounts | after.accounts,
        before is not None and after.rank > before.rank,
    )


def event_of(type_: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of every event that is told, as JSON writes it."""
    return {"type": type_, "timestamp": rfc3339(at, "microseconds"), "data": data}
