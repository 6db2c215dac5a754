"""One change of a transfer's status: when there is one, what it takes back, and what is published of it.

Streams (docs/waiting.md) and webhooks (docs/webhooks.md#events) tell the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct

from app.transfers.status import TABLE, StatusAnswer
from app.values.codes import TransferHistoryStatus, XferStatus
from app.values.identifiers import TransferId, account_key
from app.values.times import rfc3339

MAX_SEQ: Final = 2**63 - 1
WHOLE: Final = MAX_SEQ
"""The part of a position behind all that its entry changed."""

_ID: Final = re.compile(r"(\d{1,19})(?:\.(\d{1,9})|\+(\d{1,19}))?", re.ASCII)


class Position(NamedTuple):
    """Behind an entry of the log, or behind an ask for a refund that came after it.

    Asks are kept beside the log and counted by themselves, so one has a place between two entries.
    """

    seq: int
    ask: int = 0
    part: int = WHOLE
    """How many of the changes that the entry made at once; ``WHOLE`` for all of them."""

    def __str__(self) -> str:
        """The id of an event: ``12``, ``12.1`` for the first of several changes, ``12+3`` for an ask."""
        if self.ask:
            return f"{self.seq}+{self.ask}"
        return str(self.seq) if self.part == WHOLE else f"{self.seq}.{self.part}"


BEGINNING: Final = Position(0)


def parse_position(text: str) -> Position:
    """The position that an id names.

    :raises ValueError: with a message for people.
    """
    found = _ID.fullmatch(text)
    if found is None:
        raise ValueError("must be the id of an event of this stream, such as 1200")
    seq, part, ask = found.groups()
    if max(int(seq), int(ask or 0)) > MAX_SEQ:
        raise ValueError("must be the id of an event of this stream, such as 1200")
    return Position(int(seq), int(ask or 0), int(part) if part else WHOLE)


STATUS_EVENT: Final = "transfer.status"

_STATUSES: Final = [status for status, _ in TABLE]
_RANKS: Final = {status: _STATUSES.index(status) for status in _STATUSES}
"""The first line of the status table that gives each status: the lower, the more it outranks."""

_ANNOUNCED: Final = len(_STATUSES) - 1
"""The line of a transfer that is announced and not sent. Its status is that of a sent one, too."""

_NOTHING: Final = len(_STATUSES)


class StatusThen(Struct, frozen=True):
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


class StatusChange(Struct, frozen=True):
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
