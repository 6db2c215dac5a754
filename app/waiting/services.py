"""Waiting until a transfer leaves a status, and following every change of a status from any position on."""

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
from app.network.snapshot import SnapshotSource
from app.transfers.queries.status import TransferRow, transfer_row
from app.transfers.services.status import (
    TransferStatus,
    progress_of_row,
    status_of,
    taken_in_at,
    transfer_not_found,
    transfer_status,
)
from app.transfers.status_changes import BEGINNING, Position, StatusChange, account_keys
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
    """Somebody who is told of every change of a transfer or an account until they leave."""

    __slots__ = ("_told_at", "behind", "stopped")

    def __init__(self, key: Key) -> None:
        super().__init__(key, math.inf)
        self.behind = True
        """Whether there may be something that was not told yet."""
        self.stopped = False
        """Whether the server ends."""
        self._told_at: Heads | None = None

    def told(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        """See ``Waiter.told``."""
        self.behind, self._told_at = True, heads
        return False

    def failed(self, error: Exception) -> None:
        """See ``Waiter.failed``; nothing is due, so it never comes."""

    def stop(self) -> None:
        """Nothing more is told: the client hears the rest from another process."""
        self.stopped = True
        self.wake()

    def is_older(self, heads: Heads) -> bool:
        """Whether what was read reaches less far than what there was to be told of: a replica was behind."""
        told_at = self._told_at
        return told_at is not None and (heads.seq < told_at.seq or heads.changes < told_at.changes)

    @property
    def was_published(self) -> bool:
        """Whether the thread that looks knows of this follower."""
        return self._told_at is not None


class PlacedChange(Struct, frozen=True):
    """A change, its place in the stream, and when the gateway learned of it."""

    position: Position
    at: datetime
    change: StatusChange


class Told(Struct, frozen=True):
    """What follows a position. ``changes`` is None where there is too much: statuses are to be read again."""

    changes: Sequence[PlacedChange] | None
    until: Position
    """Behind all that was looked at."""
    heads: Heads


def follow(waiting: Waiting, key: Key, network: str | None = None) -> Follower:
    """Somebody who follows a transfer or an account from now on.

    :param network: where they come from, as ``Waiting.add`` takes it.
    :raises GatewayError: too many wait already.
    """
    follower = Follower(key)
    waiting.add(follower, network)
    return follower


def present_position(database: Database) -> Position:
    """Behind everything there is."""
    return _behind(database.public.run_read(load_heads))


def nothing_until(waiting: Waiting, follower: Follower) -> Position:
    """How far there was nothing to tell to one who was told everything else."""
    looked_to = waiting.looked_to
    return BEGINNING if looked_to is None or not follower.was_published else _behind(looked_to)


def published_after(database: Database, key: Key, after: Position) -> Told:
    """What is to be told to one who was told everything up to a position.

    What one entry of the log changed at once is told in the order of the transfers' ids, each at a position
    of its own: nothing is lost or told twice to one who heard of the first alone.
    """
    return database.public.run_reads(_read_after, key, after)


def _read_after(connection: Connection, key: Key, after: Position) -> Told:
    heads = load_heads(connection)
    until = max(after, _behind(heads))
    found: list[PlacedChange] | None
    if isinstance(key, str):
        found = _of_account(connection, key, after, heads)
    else:
        found = _of_transfer(connection, key, after, heads)
    if found is None:
        return Told(None, until, heads)
    return Told([each for each in _in_parts(found) if each.position > after], until, heads)


def _of_transfer(
    connection: Connection, transfer_id: TransferId, after: Position, heads: Heads
) -> list[PlacedChange]:
    found = [
        _placed(row)
        for row in changes_of_transfer(connection, transfer_id, after)
        if row.sequence <= heads.changes and row.status != row.previous_status
    ]
    # Of what happened before there was a journal, what it came to is told.
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

    A transfer is told of from the change on by which it is listed under the account, with 0 as its status
    before.
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
    """The changes in their order; of several by one entry all but the last have a part of its position."""
    ordered = sorted(found, key=lambda each: (each.position, each.change.transfer_id))
    for position, group in groupby(ordered, key=lambda each: each.position):
        *firsts, last = group
        for part, each in enumerate(firsts, start=1):
            yield replace(each, position=position._replace(part=part))
        yield last


def _behind(heads: Heads) -> Position:
    return Position(heads.seq, heads.later) if heads.seq else BEGINNING


def key_of(transfer_id: TransferId | None, account: str | None) -> Key | None:
    """What is followed; None unless it is exactly one of the two."""
    if (transfer_id is None) == (account is None):
        return None
    return account if transfer_id is None else transfer_id


LONGEST_SECONDS: Final = 30
"""How long a question may wait at most."""


class StatusWaiter(Waiter):
    """Somebody who waits until a transfer is at another status than one that is known to them.

    A transfer that is not known counts as one at status 0.
    """

    __slots__ = ("_after", "_error", "as_of", "over", "row", "transfer_id")

    reads_row = True

    def __init__(self, transfer_id: TransferId, after: int, until: float) -> None:
        super().__init__(transfer_id, until)
        self.transfer_id = transfer_id
        self._after = after
        self.row: TransferRow | None = None
        self.as_of: datetime | None = None
        """When the newest event was accepted that is in what it was told."""
        self._error: Exception | None = None
        self.over = False
        """Whether there is an answer."""

    def told(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        """See ``Waiter.told``."""
        self.over = last or _status(row) != self._after
        if self.over:
            self.row, self.as_of = row, heads.taken_in_at
        return self.over

    def failed(self, error: Exception) -> None:
        """See ``Waiter.failed``."""
        self.row, self._error, self.over = None, error, True

    def found(self) -> TransferRow | None:
        """What is known at the end of the wait.

        :raises Exception: what kept it from being read.
        """
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
    """The status, where it is another one than ``after`` or nobody wants to wait; otherwise who waits for it.

    Whoever gets a waiter asks for :func:`status_at_last` once it is over, and removes it from
    ``gateway.waiting`` in any case.

    :param after: the number of the status that the caller knows, None for one who knows none.
    :param seconds: how long to wait.
    :param network: where the caller comes from, as ``Waiting.add`` takes it.
    :raises GatewayError: no such transfer, or too many wait.
    :raises Unavailable: the configuration cannot be read.
    """
    if after is None or seconds <= 0:
        return transfer_status(database, snapshots, transfer_id)
    waiter = StatusWaiter(transfer_id, after, waiting.monotonic() + seconds)
    # First, and then the read: a change in between would otherwise be told to nobody.
    waiting.add(waiter, network)
    if not waiting.begin_own_read():
        # Thousands at once would queue for a connection to the database, each with its request and its stack.
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
    """The status as it is now, None where it is ``after``."""
    as_of = taken_in_at(database)
    row = database.public.run_read(transfer_row, transfer_id)
    return None if _status(row) == after else _answer(database, snapshots, transfer_id, row, as_of)


def status_at_last(database: Database, snapshots: SnapshotSource, waiter: StatusWaiter) -> TransferStatus:
    """What the transfer's status is when the wait is over.

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
    terms = snapshots.current().terms
    if row is None:
        raise transfer_not_found(database, snapshots, transfer_id)
    return status_of(terms, row, progress_of_row(database, snapshots, row), as_of)


def _status(row: TransferRow | None) -> int:
    return Status.TRANSFER_UNKNOWN if row is None else row.status
