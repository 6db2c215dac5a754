"""The journal of statuses: a row for each change of an answer, in the transaction of what causes it.

Every entry of the log has a row of its own for each transfer that it changes, however many entries come at
once. So the rows are the same in any batches (docs/decisions/0043-waiting.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row, func, insert, select, update

from app.db.types import is_one_of
from app.db.upserts import append
from app.feed.models import JournalRow
from app.feed.queries.pruned import load_positions
from app.feed.queries.transfers import last_rows
from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState
from app.transfers.rules.published_changes import StatusChange, StatusThen
from app.transfers.rules.refunds.request_message import PaidIds
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import TransferId

_CAUSE: Final = "gateway_cause"


def note_cause(connection: Connection, seq: int) -> None:
    """Set the entry of the log, appended by this transaction, that its further changes follow from."""
    connection.execution_options(**{_CAUSE: seq})


class Place(NamedTuple):
    """An entry of the log, or a later change without an entry of its own."""

    seq: int
    is_later: bool = False

    @classmethod
    def now(cls, connection: Connection) -> Place:
        """The place of this transaction's changes: the entry it appended, else later than the log's last."""
        cause = connection.get_execution_options().get(_CAUSE)
        return cls(load_positions(connection).last_seq, is_later=True) if cause is None else cls(cause)


class Step(Struct, frozen=True):
    """A transfer's history after the change at a place."""

    place: Place
    history: TransferHistory

    def with_paid_ids(self, paid_ids: PaidIds) -> Step:
        """With the withdraw ids that were paid for other transfers."""
        return Step(self.place, replace(self.history, paid_ids=paid_ids))


_ANSWERED: Final = attrgetter(
    "status", "refund_reason", "kind", "src_chain_id", "dst_chain_id", "symbol", "src_tx_hash", "dst_tx_hash",
    "sender", "receiver", "evidence", "sent_at", "status_since", "settled_block",
)  # fmt: skip
"""All fields of a projection that an answer rests on, for a quick comparison."""

_NEWEST: Final = select(func.max(JournalRow.sequence))


class Published(Struct, frozen=True):
    """The change of a transfer by one projection; ``accounts``: of before and after."""

    change: StatusChange
    accounts: frozenset[str]


class _Entry(Struct, frozen=True):
    change: StatusChange
    place: Place
    accounts_before: frozenset[str] | None
    is_sent: bool


class Journal:
    """Takes the results of a projection, transfer by transfer, and writes what changed."""

    def __init__(self, facts: NetworkFacts) -> None:
        self._facts = facts
        self._entries: list[_Entry] = []
        self.published: list[Published] = []

    def take(self, steps: Sequence[Step], old: TransferState | None, new: TransferState) -> None:
        """Take what the steps of a transfer changed.

        :param old: with evidence.
        :param new: the state after the last of them.
        """
        if len(steps) == 1 and old is not None and _ANSWERED(old) == _ANSWERED(new):
            return
        first = then = None if old is None else StatusThen.of(old)
        before = steps[:-1]
        along = StatusThen.along([step.history for step in before], self._facts)
        for step, reached in zip(before, along, strict=True):
            if reached is not None and (then is None or then.is_answered_otherwise(reached)):
                self._add(new.transfer_id, step, then, reached)
                then = reached
        last = StatusThen.of(new)
        if then is None or then.is_answered_otherwise(last):
            self._add(new.transfer_id, steps[-1], then, last)
        change = StatusChange.between(new.transfer_id, steps[-1].place.seq, first, last)
        if change.status is not change.previous_status:
            accounts = last.accounts if first is None else first.accounts | last.accounts
            self.published.append(Published(change, accounts))

    def _add(self, transfer_id: TransferId, step: Step, before: StatusThen | None, after: StatusThen) -> None:
        change = StatusChange.between(transfer_id, step.place.seq, before, after)
        is_relisted = before is not None and before.accounts != after.accounts
        accounts_before = before.accounts if before is not None and is_relisted else None
        self._entries.append(_Entry(change, step.place, accounts_before, after.is_sent))

    def catch_up(
        self,
        previous: TransferHistoryStatus,
        place: Place,
        stored: TransferState | None,
        state: TransferState,
    ) -> None:
        """Take a change of status that has no row yet, and have it published.

        :param previous: the status that was published last.
        :param stored: the transfer as it was stored; None where it was not.
        """
        now = StatusThen.of(state)
        before = now if stored is None else StatusThen.of(stored)
        change = StatusChange.between(state.transfer_id, place.seq, None, now)
        change = change.since(previous, is_sent=now.is_sent, was_sent=stored is None or before.is_sent)
        accounts_before = before.accounts if before.accounts != now.accounts else None
        self._entries.append(_Entry(change, place, accounts_before, now.is_sent))
        self.published.append(Published(change, before.accounts | now.accounts))

    def write(self, connection: Connection, now: datetime, *, again: bool) -> None:
        """Write the rows. The caller is the only writer.

        :param now: when the gateway learned of the changes.
        :param again: whether the log's last entry may have changed the transfers already. Then both changes
            become one.
        """
        if again:
            self._merge_with_rows(connection)
        if not self._entries:
            return
        newest = connection.scalar(_NEWEST) or 0
        self._entries.sort(key=lambda each: (each.change.seq, each.change.transfer_id))
        append(
            connection,
            JournalRow,
            [_row(each, sequence, now) for sequence, each in enumerate(self._entries, start=newest + 1)],
        )

    def _merge_with_rows(self, connection: Connection) -> None:
        """Let the changes that this transaction already wrote of a transfer lead to its present status."""
        firsts: dict[TransferId, _Entry] = {}
        for each in self._entries:
            if not each.place.is_later:
                firsts.setdefault(each.change.transfer_id, each)
        if not firsts:
            return
        rows = connection.execute(
            select(JournalRow.__table__)
            .where(
                JournalRow.seq >= min(each.place.seq for each in firsts.values()),
                JournalRow.is_later.is_(False),
                is_one_of(connection, JournalRow.transfer_id, firsts),
            )
            .order_by(JournalRow.seq)
        )
        for transfer_id, row in {row.transfer_id: row for row in rows}.items():
            first = firsts[transfer_id]
            if first.place.seq <= row.seq:
                self._entries.remove(first)
                _extend(connection, row, first)


def _extend(connection: Connection, row: Row[*tuple[Any, ...]], entry: _Entry) -> None:
    """Update a row to end at the status of an entry."""
    place = Place(row.seq)
    change = replace(entry.change, seq=row.seq).since(
        TransferHistoryStatus(row.previous_status), is_sent=entry.is_sent
    )
    accounts = entry.accounts_before if row.accounts_before is None else row.accounts_before
    written = _row(replace(entry, change=change, place=place, accounts_before=accounts), row.sequence, row.at)
    connection.execute(update(JournalRow).where(JournalRow.sequence == row.sequence).values(written))


def _row(entry: _Entry, sequence: int, now: datetime) -> dict[str, Any]:
    change = entry.change
    return {
        "sequence": sequence,
        "transfer_id": change.transfer_id,
        "seq": change.seq,
        "is_later": entry.place.is_later,
        "status": int(change.status),
        "previous_status": int(change.previous_status),
        "refund_reason": int(change.refund_reason),
        "taken_back": change.taken_back,
        "at": now,
        "accounts_before": entry.accounts_before,
    }


def catch_up(
    connection: Connection,
    before: Mapping[TransferId, TransferState],
    states: Mapping[TransferId, TransferState],
    now: datetime,
) -> Sequence[Published]:
    """Write a row for each status that the journal lacks, as later than the log's last entry.

    :param before: the transfers as they were stored; those that had no row of their own may be missing.
    :param states: the same transfers as they are now.
    :returns: the changes, which are to be published.
    """
    place = Place(load_positions(connection).last_seq, is_later=True)
    journal = Journal(NetworkFacts())
    rows = {row.transfer_id: row for row in last_rows(connection, list(states))}
    for transfer_id, state in sorted(states.items()):
        stored = before.get(transfer_id)
        published = rows.get(transfer_id, stored)
        if published is None:
            continue
        if (published.status, published.refund_reason) != (state.status, state.refund_reason):
            journal.catch_up(TransferHistoryStatus(published.status), place, stored, state)
    journal.write(connection, now, again=False)
    return journal.published


def take_next_number(connection: Connection, now: datetime) -> None:
    """Give the row without a transfer the next number, when rows are deleted, or transfers change without
    one.

    So no number is given twice, and a process of the release before forgets the statuses in its memory. The
    caller is the only writer.
    """
    sequence = (connection.scalar(_NEWEST) or 0) + 1
    of_beginning = JournalRow.transfer_id.is_(None)
    if not connection.execute(update(JournalRow).where(of_beginning).values(sequence=sequence)).rowcount:
        nothing = {"seq": 0, "status": 0, "previous_status": 0, "refund_reason": 0}
        flags = {"is_later": False, "taken_back": False}
        connection.execute(insert(JournalRow), {"sequence": sequence, "at": now, **nothing, **flags})
