"""Waits until a transfer leaves a status, and follows every change of a status from any position on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row

from app.db.database import Database
from app.db.engine import run_read
from app.network.snapshot import SnapshotSource
from app.transfers.queries.status import TransferRow, transfer_row
from app.transfers.rules.published_changes import BEGINNING, Position, StatusChange, account_keys
from app.transfers.services.status import (
    TransferStatus,
    progress_of_row,
    read_as_of,
    status_of,
    transfer_not_found,
    transfer_status,
)
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus
from app.values.identifiers import TransferId
from app.waiting.queries import (
    Heads,
    beginning,
    changes_of_account,
    changes_of_transfer,
    load_heads,
    status_before,
)
from app.waiting.register import Key, Waiter, Waiting


class Follower(Waiter):
    """A client that gets every change of a transfer or an account until it leaves."""

    __slots__ = ("_updated_to", "behind", "stopped")

    def __init__(self, key: Key) -> None:
        super().__init__(key, math.inf)
        self.behind = True  # there may be changes that were not sent yet
        self.stopped = False  # the server stops
        self._updated_to: Heads | None = None

    def update(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        self.behind, self._updated_to = True, heads
        return False

    def failed(self, error: Exception) -> None:
        """A follower has no timeout, so this is never called."""

    def stop(self) -> None:
        """Send no more. The client gets the rest from another process."""
        self.stopped = True
        self.wake()

    def is_older(self, heads: Heads) -> bool:
        """Whether a read is older than the last update, because a replica was behind."""
        updated_to = self._updated_to
        return updated_to is not None and (heads.seq < updated_to.seq or heads.changes < updated_to.changes)

    @property
    def was_published(self) -> bool:
        """Whether the looking thread has updated this follower."""
        return self._updated_to is not None


class PlacedChange(Struct, frozen=True):
    """A change, its place in the stream, and when the gateway learned of it."""

    position: Position
    at: datetime
    change: StatusChange


class PublishedChanges(Struct, frozen=True):
    """The changes after a position.

    :param changes: None where there are too many: read the statuses again.
    :param until: the position after everything that was read.
    """

    changes: Sequence[PlacedChange] | None
    until: Position
    heads: Heads


def follow(waiting: Waiting, key: Key, network: str | None = None) -> Follower:
    """Register a client from now on.

    :param network: where it comes from, as ``Waiting.add`` takes it.
    :raises GatewayError: too many clients wait already.
    """
    follower = Follower(key)
    waiting.add(follower, network)
    return follower


def present_position(database: Database) -> Position:
    """The position after everything there is."""
    return _end_of(database.public.run_read(load_heads))


def end_of_shorter_log(database: Database, after: Position) -> Position | None:
    """The position to go on from where a client is ahead of the log; None where it is not.

    The log ends earlier than it did after a restore from a backup, or after a failover that lost commits. A
    replica may be late, so the primary says where it ends.
    """
    if after <= present_position(database):
        return None
    end = _end_of(run_read(database.engine, load_heads))
    return end if after > end else None


def nothing_until(waiting: Waiting, follower: Follower) -> Position:
    """The position up to which a follower with no changes left to send has got everything."""
    looked_to = waiting.looked_to
    return BEGINNING if looked_to is None or not follower.was_published else _end_of(looked_to)


def published_after(database: Database, key: Key, after: Position) -> PublishedChanges:
    """The changes to send to a client that has everything up to a position.

    Changes by one entry of the log are sent in the order of the transfers' ids, each with a position of its
    own. So a client that only got the first of them neither misses one nor gets one twice.
    """
    return database.public.run_reads(_read_after, key, after)


def _read_after(connection: Connection, key: Key, after: Position) -> PublishedChanges:
    heads = load_heads(connection)
    until = max(after, _end_of(heads))
    found: list[PlacedChange] | None
    if isinstance(key, str):
        found = _of_account(connection, key, after, heads)
    else:
        found = _of_transfer(connection, key, after, heads)
    if found is None:
        return PublishedChanges(None, until, heads)
    return PublishedChanges([each for each in _in_parts(found) if each.position > after], until, heads)


def _of_transfer(
    connection: Connection, transfer_id: TransferId, after: Position, heads: Heads
) -> list[PlacedChange]:
    found = [
        _placed(row)
        for row in changes_of_transfer(connection, transfer_id, after)
        if row.sequence <= heads.changes and row.status != row.previous_status
    ]
    # For the time before the journal began, only the resulting status is sent.
    begun = beginning(connection)
    if begun is not None and after.seq < begun.seq:
        before = status_before(connection, transfer_id)
        if before is not None and before.status:
            seq = begun.seq if before.changed_at is None else min(begun.seq, before.changed_at - 1)
            status, reason = Status(before.status), XferStatus(before.refund_reason)
            change = StatusChange(transfer_id, seq, status, Status.TRANSFER_UNKNOWN, reason, taken_back=False)
            found.append(PlacedChange(Position(seq), begun.at, change))
    return found


def _of_account(
    connection: Connection, account: str, after: Position, heads: Heads
) -> list[PlacedChange] | None:
    """The changes of an account's transfers; None where there are too many, or the journal begins later.

    The first change of a transfer is the one that lists it under the account, with 0 as its previous status.
    """
    begun = beginning(connection)
    if begun is not None and after.seq < begun.seq:
        return None
    rows = changes_of_account(connection, account, after, heads)
    if rows is None:
        return None
    found, listing = list[PlacedChange](), dict[TransferId, frozenset[str]]()
    for row in reversed(rows):
        now = listing.get(row.transfer_id)
        if now is None:
            now = account_keys(row.sender, row.receiver)
        before = now if row.accounts_before is None else row.accounts_before
        listing[row.transfer_id] = before
        if row.sequence > heads.changes or not (account in before or account in now):
            continue
        placed = _placed(row)
        if account not in before:
            unknown = replace(placed.change, previous_status=Status.TRANSFER_UNKNOWN, taken_back=False)
            placed = replace(placed, change=unknown)
        if placed.change.status is not placed.change.previous_status:
            found.append(placed)
    return found


def _placed(row: Row[*tuple[Any, ...]]) -> PlacedChange:
    change = StatusChange(
        row.transfer_id,
        row.seq,
        Status(row.status),
        Status(row.previous_status),
        XferStatus(row.refund_reason),
        row.taken_back,
    )
    return PlacedChange(Position(row.seq, row.sequence if row.is_later else 0), row.at, change)


def _in_parts(found: Iterable[PlacedChange]) -> Iterator[PlacedChange]:
    """The changes in their order. Of several by one entry, all but the last get a part of its position."""
    ordered = sorted(found, key=lambda each: (each.position, each.change.transfer_id))
    for position, group in groupby(ordered, key=lambda each: each.position):
        *firsts, last = group
        for part, each in enumerate(firsts, start=1):
            yield replace(each, position=position._replace(part=part))
        yield last


def _end_of(heads: Heads) -> Position:
    return Position(heads.seq, heads.later) if heads.seq else BEGINNING


def key_of(transfer_id: TransferId | None, account: str | None) -> Key | None:
    """The key to follow; None unless exactly one of the two is given."""
    if (transfer_id is None) == (account is None):
        return None
    return account if transfer_id is None else transfer_id


LONGEST_SECONDS: Final = 30  # of a wait


class StatusWaiter(Waiter):
    """A client that waits until a transfer is at another status than the one it knows.

    An unknown transfer counts as one at status 0.
    """

    __slots__ = ("_after", "_error", "as_of", "over", "row", "transfer_id")

    reads_row = True

    def __init__(self, transfer_id: TransferId, after: int, until: float) -> None:
        super().__init__(transfer_id, until)
        self.transfer_id = transfer_id
        self._after = after
        self.row: TransferRow | None = None
        self.as_of: datetime | None = None  # when the newest event that the answer includes was accepted
        self._error: Exception | None = None
        self.over = False  # there is an answer or an error

    def update(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        self.over = last or _status(row) != self._after
        if self.over:
            self.row, self.as_of = row, heads.taken_in_at
        return self.over

    def failed(self, error: Exception) -> None:
        self.row, self._error, self.over = None, error, True

    def found(self) -> TransferRow | None:
        """:raises Exception: why the row could not be read."""
        if self._error is not None:
            raise self._error
        return self.row


def wait_for_status(
    database: Database,
    snapshots: SnapshotSource,
    waiting: Waiting,
    transfer_id: TransferId,
    after: int | None,
    seconds: float,
    network: str | None = None,
) -> StatusWaiter | TransferStatus:
    """The status if it is not ``after`` or no wait is wanted; otherwise a waiter for it.

    The caller of a waiter calls :func:`status_at_last` once it is over, and always removes it from
    ``waiting``.

    :param after: the number of the status that the caller knows, None if it knows none.
    :param seconds: how long to wait.
    :param network: where the caller comes from, as ``Waiting.add`` takes it.
    :raises GatewayError: no such transfer, or too many clients wait.
    :raises Unavailable: the configuration cannot be read.
    """
    if after is None or seconds <= 0:
        return transfer_status(database, snapshots, transfer_id)
    waiter = StatusWaiter(transfer_id, after, waiting.monotonic() + seconds)
    # Register before the read: a change between the two would otherwise be lost.
    waiting.add(waiter, network)
    if not waiting.begin_own_read():
        # Otherwise thousands at once would queue for a database connection, each with a request and a stack.
        return waiter
    try:
        answer = _status_if_not(after, database, snapshots, transfer_id)
    except BaseException:
        waiting.remove(waiter)
        raise
    finally:
        waiting.end_own_read()
    if answer is None:
        return waiter
    waiting.remove(waiter)
    return answer


def _status_if_not(
    after: int, database: Database, snapshots: SnapshotSource, transfer_id: TransferId
) -> TransferStatus | None:
    """None where it is ``after``."""
    row, as_of = read_as_of(database, lambda connection: transfer_row(connection, transfer_id))
    return None if _status(row) == after else _answer(database, snapshots, transfer_id, row, as_of)


def status_at_last(database: Database, snapshots: SnapshotSource, waiter: StatusWaiter) -> TransferStatus:
    """The answer for a waiter whose wait is over.

    :raises GatewayError: no such transfer.
    :raises Unavailable: the configuration cannot be read.
    """
    return _answer(database, snapshots, waiter.transfer_id, waiter.found(), waiter.as_of)


def _answer(
    database: Database,
    snapshots: SnapshotSource,
    transfer_id: TransferId,
    row: TransferRow | None,
    as_of: datetime | None,
) -> TransferStatus:
    snapshot = snapshots.current()
    if row is None:
        raise transfer_not_found(database, snapshot, transfer_id)
    return status_of(snapshot.terms, row, progress_of_row(database, snapshot, row), as_of)


def _status(row: TransferRow | None) -> int:
    return Status.TRANSFER_UNKNOWN if row is None else row.status
