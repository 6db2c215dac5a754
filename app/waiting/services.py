"""Waiting until a transfer leaves a status, and following every change of a status from any position on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection

from app.cooperation import in_turns
from app.db.database import Database
from app.network.facts import NetworkFacts
from app.network.queries import load_configured_facts
from app.network.snapshot import SnapshotSource
from app.transfers.events import RefundPrepared
from app.transfers.queries.status import TransferRow, transfer_row
from app.transfers.services.status import (
    TransferStatus,
    progress_of_row,
    status_of,
    taken_in_at,
    transfer_not_found,
    transfer_status,
)
from app.transfers.status_changes import BEGINNING, Position
from app.transfers.status_history import Past
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import TransferId
from app.waiting.past import load_pasts
from app.waiting.queries import MOST_TO_READ, Heads, load_heads, transfers_of_account
from app.waiting.register import Key, Waiter, Waiting
from app.waiting.status_stream import PlacedChange, changes_after

_NO_FACTS = NetworkFacts(tokens={}, pool_bridges={}, pairs=(), validators={})
"""Enough for transfers without refund requests: nothing else of the configuration decides a status."""


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
        return told_at is not None and (heads.seq < told_at.seq or heads.asks < told_at.asks)

    @property
    def was_published(self) -> bool:
        """Whether the thread that looks knows of this follower."""
        return self._told_at is not None


class Told(Struct, frozen=True):
    """What follows a position. ``changes`` is None where nobody can say: statuses are to be read anew."""

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


def published_after(database: Database, waiting: Waiting, key: Key, after: Position) -> Told:
    """What is to be told to one who was told everything up to a position.

    One stream of the process at a time: each takes some milliseconds of the processor, gives way to whatever
    else is to be done, and holds a connection to the database meanwhile. So hundreds of them that are far
    behind wait for each other, and nobody else waits for them.
    """
    with waiting.reading_pasts:
        read = database.public.run_reads(_read_after, key, after)
        if read.pasts is None:
            return Told(None, read.until, read.heads)
        account = key if isinstance(key, str) else None
        changes = changes_after(read.pasts, read.facts, after, account, in_turns)
        return Told(changes, read.until, read.heads)


class _Read(Struct, frozen=True):
    """From what the changes behind a position follow; ``pasts`` is None where there is too much to read."""

    pasts: Sequence[Past] | None
    until: Position
    heads: Heads
    facts: NetworkFacts = _NO_FACTS


def _read_after(connection: Connection, key: Key, after: Position) -> _Read:
    heads = load_heads(connection)
    until = max(after, _behind(heads))
    pasts: Sequence[Past] | None = None
    if not isinstance(key, str):
        pasts = load_pasts(connection, [key])
    elif (found := transfers_of_account(connection, key, after, heads)) is not None:
        pasts = load_pasts(connection, found, MOST_TO_READ)
    if pasts is None:
        return _Read(None, until, heads)
    return _Read(pasts, until, heads, _facts(connection, pasts))


def _behind(heads: Heads) -> Position:
    return Position(heads.seq, heads.asks) if heads.seq else BEGINNING


def _facts(connection: Connection, pasts: Sequence[Past]) -> NetworkFacts:
    """The facts by which refunds are judged, with the validators that were configured."""
    if not any(isinstance(each.event, RefundPrepared) for past in pasts for each in past.log):
        return _NO_FACTS
    return load_configured_facts(connection)


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
