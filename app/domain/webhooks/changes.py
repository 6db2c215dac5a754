"""What a change of a transfer's status says to those who subscribed to it (docs/webhooks.md#events)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.domain.codes import TransferHistoryStatus, XferStatus
from app.domain.keys import TransferId, account_key
from app.domain.times import rfc3339
from app.domain.transfer.lifecycle import TABLE
from app.domain.transfer.state import TransferState

STATUS_EVENT: Final = "transfer.status"
TEST_EVENT: Final = "webhook.test"

_STATUSES: Final = [status for status, _ in TABLE]
_RANKS: Final = {status: _STATUSES.index(status) for status in _STATUSES}
"""The first line of the status table that gives each status: the lower, the more it outranks."""

_ANNOUNCED: Final = len(_STATUSES) - 1
"""The line of a transfer that is announced and not sent. Its status is that of a sent one, too."""

_NOTHING: Final = len(_STATUSES)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """One transfer whose status is another one now.

    :param accounts: the ``account_key`` of its sender and receiver, before and after the change.
    :param taken_back: what the previous status rested on does not hold any more.
    """

    transfer_id: TransferId
    status: TransferHistoryStatus
    previous_status: TransferHistoryStatus
    refund_reason: XferStatus
    accounts: frozenset[str]
    taken_back: bool

    def body(self, at: datetime, seq: int) -> str:
        """The JSON text that is sent.

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
        return event_body(STATUS_EVENT, at, data)


def event_body(type_: str, at: datetime, data: Mapping[str, Any]) -> str:
    """The JSON text of any event, in ASCII."""
    event = {"type": type_, "timestamp": rfc3339(at, "microseconds"), "data": data}
    return json.dumps(event, separators=(",", ":"))


def status_changes(
    old: Mapping[TransferId, TransferState], new: Mapping[TransferId, TransferState]
) -> Iterator[StatusChange]:
    """The transfers of ``new`` whose status is another than in ``old``; unknown where it is not there."""
    for transfer_id, after in new.items():
        before = old.get(transfer_id)
        previous = TransferHistoryStatus.TRANSFER_UNKNOWN if before is None else before.status
        if previous is not after.status:
            yield StatusChange(
                transfer_id,
                after.status,
                previous,
                after.refund_reason,
                _accounts(before) | _accounts(after),
                before is not None and _rank(after) > _rank(before),
            )


def _accounts(state: TransferState | None) -> frozenset[str]:
    accounts = () if state is None else (state.sender, state.receiver)
    return frozenset(account_key(account) for account in accounts if account)


def _rank(state: TransferState) -> int:
    """The line of the status table that the state is at.

    A status of a lower line follows only when none of the signs of the former holds any more.
    """
    if state.status is TransferHistoryStatus.TRANSFER_SUBMITTING and state.sent_at is None:
        return _ANNOUNCED
    return _RANKS.get(state.status, _NOTHING)
