"""Changes of a transfer's status: when there is one, whether it takes another back, and what is published.

Streams (docs/waiting.md) and webhooks (docs/webhooks.md#events) publish the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.events.event_types import (
    RefundCompleted,
    RefundPrepared,
    TransferDelayed,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.progress import counted_from
from app.transfers.rules.projected import TransferState, answer_of, settled_block
from app.transfers.rules.status import TABLE, CanonicalEvents, RefundFacts, StatusAnswer, status_of
from app.values.codes import TransferHistoryStatus, XferStatus
from app.values.identifiers import TransferId, account_key
from app.values.times import rfc3339

MAX_SEQ: Final = 2**63 - 1
WHOLE: Final = MAX_SEQ
"""The part of a position after all changes of its entry."""

_ID: Final = re.compile(r"(\d{1,19})(?:\.(\d{1,9})|\+(\d{1,19}))?", re.ASCII)


class Position(NamedTuple):
    """A place after an entry of the log, or after a later change that has no entry of its own.

    Users' refund requests and changes of the network are such changes. Their place is between two entries.
    """

    seq: int
    later: int = 0
    """The number of the change among all (``sequence``); 0 for the entry itself."""
    part: int = WHOLE
    """How many of the changes that the entry made at once; ``WHOLE`` for all of them."""

    def __str__(self) -> str:
        """The id of an event: ``12``, ``12.1`` for the first of several changes, ``12+3`` for a later one."""
        if self.later:
            return f"{self.seq}+{self.later}"
        return str(self.seq) if self.part == WHOLE else f"{self.seq}.{self.part}"


BEGINNING: Final = Position(0)


def parse_position(text: str) -> Position:
    """:raises ValueError: with a message for people."""
    found = _ID.fullmatch(text)
    if found is None:
        raise ValueError("must be the id of an event of this stream, such as 1200")
    seq, part, later = found.groups()
    if max(int(seq), int(later or 0)) > MAX_SEQ:
        raise ValueError("must be the id of an event of this stream, such as 1200")
    return Position(int(seq), int(later or 0), int(part) if part else WHOLE)


STATUS_EVENT: Final = "transfer.status"

_STATUSES: Final = [status for status, _ in TABLE]
_RANKS: Final = {status: _STATUSES.index(status) for status in _STATUSES}
"""The index of the first line of the status table for each status. A lower line outranks a higher one."""

_ANNOUNCED: Final = len(_STATUSES) - 1
"""The line of a transfer that is announced but not sent. A sent transfer can have the same status."""

_NOTHING: Final = len(_STATUSES)


_FIELDS: Final = attrgetter(
    "kind", "src_chain_id", "dst_chain_id", "symbol", "src_tx_hash", "dst_tx_hash", "evidence",
    "settled_block",
)  # fmt: skip
"""What an answer rests on in addition to its status and times, in the order of ``answer_of``."""


class StatusThen(Struct, frozen=True):
    """A status at one moment, the ``account_key`` of each account that listed the transfer, the time of its
    canonical send, and the other fields of the answer."""

    answer: StatusAnswer
    accounts: frozenset[str]
    sent_at: datetime | None
    fields: tuple[Any, ...]

    @classmethod
    def of(cls, state: TransferState) -> StatusThen:
        answer = StatusAnswer(state.status, state.refund_reason, state.status_since)
        accounts = account_keys(state.sender, state.receiver)
        return cls(answer, accounts, state.sent_at, _FIELDS(state))

    @classmethod
    def of_history(cls, history: TransferHistory, facts: NetworkFacts) -> StatusThen | None:
        """The status that the projection of a history has; None if the transfer is not known."""
        return cls._of_canonical(history, history.canonical(), facts) if history.is_known else None

    @classmethod
    def _of_canonical(
        cls, history: TransferHistory, canonical: CanonicalEvents, facts: NetworkFacts
    ) -> StatusThen:
        origin = history.origin_event(canonical)
        accounts = account_keys(origin.sender, origin.receiver) if origin else frozenset[str]()
        answer, fields = answer_of(history, canonical, facts)
        send = canonical.first(TransferSent)
        return cls(answer, accounts, None if send is None else send.at, fields)

    @classmethod
    def along(cls, histories: Sequence[TransferHistory], facts: NetworkFacts) -> Iterator[StatusThen | None]:
        """The status after each history of a sequence. Each history has one more entry than the one before.
        Nearly always the entry only adds a canonical event: then only the status is computed again.
        """
        if len(histories) < 2 or not _only_adds(histories[-1]):
            yield from (cls.of_history(history, facts) for history in histories)
            return
        first, *further = histories
        canonical = CanonicalEvents.of(logged.event for logged in first.log)
        then = cls._of_canonical(first, canonical, facts)
        yield then
        for history in further:
            event = history.log[-1].event
            canonical.add(event)
            if isinstance(event, _DESCRIBING):
                then = cls._of_canonical(history, canonical, facts)
            else:
                answer = status_of(canonical, RefundFacts(requested_at=history.requested_at))
                fields = (*then.fields[:-1], settled_block(canonical, answer.status))
                then = cls(answer, then.accounts, then.sent_at, fields)
            yield then

    @property
    def is_sent(self) -> bool:
        return self.sent_at is not None

    @property
    def counted_from(self) -> datetime | None:
        return counted_from(self.answer.status, self.sent_at, self.answer.since)

    @property
    def rank(self) -> int:
        """The line of the status table that the transfer is at.

        It only moves down when none of the signs of the line before holds any more.
        """
        return _rank(self.answer.status, is_sent=self.is_sent)

    def is_answered_otherwise(self, later: StatusThen) -> bool:
        """Whether the later answer differs, or other accounts list the transfer."""
        before, after = self.answer, later.answer
        is_same = before.status is after.status and before.refund_reason is after.refund_reason
        is_same = is_same and self.counted_from == later.counted_from
        return not is_same or self.accounts != later.accounts or self.fields != later.fields


_NAMING: Final = (TransferSent, TransferSubmitted)
_DESCRIBING: Final = (*_NAMING, TransferReleased, TransferDelayed, TransferFailed, RefundCompleted)
"""Events that change more of an answer than its status. Refund requests do too."""


def _only_adds(history: TransferHistory) -> bool:
    """Whether all events are canonical and count, and no refund is prepared, now and in earlier histories."""
    if history.reorgs or history.retracted or history.ahead:
        return False
    events = [logged.event for logged in history.log]
    if any(logged.chains is not None for logged in history.log) or len({e.id for e in events}) < len(events):
        return False
    if sum(isinstance(event, _NAMING) for event in events) > 1:
        return False
    if history.contradicting():
        return False
    origin = history.origin()
    return not any(isinstance(event, RefundPrepared) or origin.is_misplaced(event) for event in events)


def _rank(status: TransferHistoryStatus, *, is_sent: bool) -> int:
    if status is TransferHistoryStatus.TRANSFER_SUBMITTING and not is_sent:
        return _ANNOUNCED
    return _RANKS.get(status, _NOTHING)


class StatusChange(Struct, frozen=True):
    """A status that follows another one, which may be the same.

    ``seq`` is the position in the event log of its cause. ``taken_back``: the reason for the previous status
    no longer holds.
    """

    transfer_id: TransferId
    seq: int
    status: TransferHistoryStatus
    previous_status: TransferHistoryStatus
    refund_reason: XferStatus
    taken_back: bool

    @classmethod
    def between(
        cls, transfer_id: TransferId, seq: int, before: StatusThen | None, after: StatusThen
    ) -> StatusChange:
        """``before`` is None where there was no transfer. Its status counts as TRANSFER_UNKNOWN."""
        answer = after.answer
        previous = TransferHistoryStatus.TRANSFER_UNKNOWN if before is None else before.answer.status
        taken_back = before is not None and after.rank > before.rank
        return cls(transfer_id, seq, answer.status, previous, answer.refund_reason, taken_back)

    def since(self, previous: TransferHistoryStatus, *, is_sent: bool, was_sent: bool = True) -> StatusChange:
        """The same change, from an earlier status. ``is_sent``: its send is canonical now; ``was_sent``:
        it was then.
        """
        taken_back = _rank(self.status, is_sent=is_sent) > _rank(previous, is_sent=was_sent)
        return replace(self, previous_status=previous, taken_back=taken_back)

    def event(self, at: datetime) -> dict[str, Any]:
        """As JSON writes it. ``at`` is when the gateway learned of the change."""
        data: dict[str, Any] = {
            "transfer_id": f"0x{self.transfer_id.hex()}",
            "status": int(self.status),
            "previous_status": int(self.previous_status),
            "refund_reason": int(self.refund_reason),
            "seq": self.seq,
        }
        if self.taken_back:
            data["taken_back"] = True
        return event_of(STATUS_EVENT, at, data)


def account_keys(*accounts: str | None) -> frozenset[str]:
    return frozenset(account_key(account) for account in accounts if account)


def event_of(type_: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": type_, "timestamp": rfc3339(at, "microseconds"), "data": data}
