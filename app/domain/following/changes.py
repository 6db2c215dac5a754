"""Changes of statuses, as a stream tells them: the same ones whoever asks, from any position on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from app.domain.codes import TransferHistoryStatus, XferStatus
from app.domain.following.past import Past, StatusThen
from app.domain.following.position import MAX_SEQ, WHOLE, Position
from app.domain.keys import TransferId
from app.domain.network_facts import NetworkFacts
from app.domain.transfer.lifecycle import TABLE

_STATUSES: Final = [status for status, _ in TABLE]
_RANKS: Final = {status: _STATUSES.index(status) for status in _STATUSES}
"""The line of the status table that gives each status: the lower, the more it outranks."""

_ANNOUNCED: Final = len(_STATUSES) - 1
"""The line of a transfer that is announced and not sent. Its status is that of a sent one, too."""

_NOTHING: Final = len(_STATUSES)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A status that follows another one.

    ``at`` is when the gateway learned of it. ``taken_back``: what the previous status rested on does not hold
    any more.
    """

    position: Position
    transfer_id: TransferId
    status: TransferHistoryStatus
    previous_status: TransferHistoryStatus
    refund_reason: XferStatus
    at: datetime
    taken_back: bool


def changes_after(
    pasts: Iterable[Past], facts: NetworkFacts, after: Position, account: str | None = None
) -> list[StatusChange]:
    """The changes of transfers behind a position, in the order in which they are told.

    What one entry of the log changed at once is told in the order of the transfers' ids, each at a position
    of its own: nothing is lost or told twice to one who heard of the first alone.

    :param account: as ``account_key`` writes it, for the stream of an account: a transfer is told of from the
        entry on by which it is listed under it.
    """
    # Of an entry that was told in part the other part is to be found again.
    start = after if after.part == WHOLE else Position(after.seq - 1, MAX_SEQ)
    found = [change for past in pasts for change in _changes(past, facts, start, account)]
    found.sort(key=lambda change: (change.position, change.transfer_id))
    told: list[StatusChange] = []
    for position, group in groupby(found, key=lambda change: change.position):
        *firsts, last = group
        told += [replace(each, position=position._replace(part=n)) for n, each in enumerate(firsts, start=1)]
        told.append(last)
    return [change for change in told if change.position > after]


def _changes(past: Past, facts: NetworkFacts, after: Position, account: str | None) -> Iterator[StatusChange]:
    before = past.at(after, facts)
    for position in sorted(position for position in past.learned if position > after):
        now = past.at(position, facts)
        if now is not None and (_is_told(before, account) or _is_told(now, account)):
            told_before = before if _is_told(before, account) else None
            if now.answer.status is not _status(told_before):
                yield StatusChange(
                    position,
                    past.transfer_id,
                    now.answer.status,
                    _status(told_before),
                    now.answer.refund_reason,
                    past.learned[position],
                    told_before is not None and _rank(now) > _rank(told_before),
                )
        before = now


def _is_told(then: StatusThen | None, account: str | None) -> bool:
    return then is not None and (account is None or account in then.accounts)


def _status(then: StatusThen | None) -> TransferHistoryStatus:
    return TransferHistoryStatus.TRANSFER_UNKNOWN if then is None else then.answer.status


def _rank(then: StatusThen) -> int:
    """The line of the status table. A lower one follows only when no sign of the former holds any more."""
    if then.answer.status is TransferHistoryStatus.TRANSFER_SUBMITTING and not then.is_sent:
        return _ANNOUNCED
    return _RANKS.get(then.answer.status, _NOTHING)
