"""Clients that wait for a transfer or an account to change: a bounded number, served by one thread.

The thread runs while any client waits. Several times a second it reads how far the log reaches and what is
new, and updates the clients concerned. So a waiting client costs some hundred bytes and no thread, and the
database gets as many queries as for a single one (docs/decisions/0043-waiting.md).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection

from app.cooperation import in_turns
from app.db.replica import PublicReads
from app.observability.outages import FAILURES
from app.transfers.queries.status import TransferRow, transfer_rows
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from app.waiting.queries import Changed, Heads, accounts_of, changed_since, load_heads

TICK_SECONDS: Final = 0.075  # between two looks
BUSY_RETRY_SECONDS: Final = 5  # until a client tries again where too many wait

NETWORKS: Final = 4
"""One network may have one in this many of the places, so that most are left to others."""

READS_AT_ONCE: Final = 16
"""How many new clients may read for themselves at a time. For others the thread reads in its next look."""

ROWS_AT_ONCE: Final = 500  # transfers read by one statement

_log = logging.getLogger(__name__)

Key = TransferId | str
"""What is waited for: a transfer, or an account as ``account_key`` writes it."""


class Waiter:
    """A client that waits. The looking thread calls its methods, so they neither block nor raise.

    ``reads_row``: it gets the row of its transfer. ``until``: when its wait is over in any case, in seconds
    of the monotonic clock. ``network``: where it comes from, set when it is added. ``wake`` is called after
    each update; the source that serves the client sets it.
    """

    __slots__ = ("key", "network", "until", "wake")

    reads_row = False

    def __init__(self, key: Key, until: float) -> None:
        self.key = key
        self.network: str | None = None
        self.until = until
        self.wake: Callable[[], None] = lambda: None

    def update(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        """Take what is known now. Returns whether the wait is over.

        :param row: of its transfer, None where that is not known; always None unless ``reads_row``.
        :param heads: how far the log reached when it was read.
        :param last: whether the time is over.
        """
        raise NotImplementedError

    def failed(self, error: Exception) -> None:
        """Take the error: nothing could be read, and the time is over."""
        raise NotImplementedError

    def stop(self) -> None:
        """Let the next look be the last, because the server stops."""
        self.until = 0


class _Look(Struct, frozen=True):
    """The result of one look: the waiters to update, and the rows of their transfers."""

    heads: Heads
    waiters: Collection[Waiter]
    rows: Mapping[TransferId, TransferRow]


class Waiting:
    """The waiters of one process.

    :param public_reads: where answers are read, also by the thread.
    :param limit: how many clients may wait at a time.
    """

    def __init__(
        self,
        public_reads: PublicReads,
        limit: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit = limit
        self.monotonic = monotonic
        self._reads = public_reads
        self._lock = threading.Lock()
        self._own_reads = 0
        self._waiters: dict[Key, dict[Waiter, None]] = {}
        self._fresh: dict[Waiter, None] = {}
        self._count = 0
        self._of_networks: Counter[str] = Counter()
        self._running_in: int | None = None
        self._stopping = False
        self.looked_to: Heads | None = None
        """How far all waiters are updated; None while they are being updated."""
        self._heads: Heads | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def limit_of_network(self) -> int:
        return -(-self.limit // NETWORKS)

    def add(self, waiter: Waiter, network: str | None = None) -> None:
        """Update a client with changes from now on, and once in the next look in any case.

        What the client read before may be older than the thread's last look, so that first update is needed.

        :param network: what the caller is counted by (``counted_network``); None where there is no address.
        :raises GatewayError: too many clients wait already, in total or from this network.
        """
        with self._lock:
            if network is not None and self._of_networks[network] >= self.limit_of_network:
                raise _busy(
                    f"{self.limit_of_network} callers of your network wait already",
                    Reason.RATE_LIMITED,
                )
            if self._count >= self.limit:
                raise _busy("too many wait already", Reason.WAIT_BUSY)
            if network is not None:
                self._of_networks[network] += 1
                waiter.network = network
            if self._stopping:
                waiter.stop()
            self._waiters.setdefault(waiter.key, {})[waiter] = None
            self._fresh[waiter] = None
            self._count += 1
        self._start()

    def _start(self) -> None:
        with self._lock:
            if self._running_in != os.getpid():  # threads do not survive a fork
                self._running_in = os.getpid()
                threading.Thread(target=self._look_while_any, name="waiting", daemon=True).start()

    def begin_own_read(self) -> bool:
        """Whether an added client may read for itself; otherwise the thread reads in its next look.

        If so, the caller calls :meth:`end_own_read` afterwards.
        """
        with self._lock:
            if self._own_reads >= READS_AT_ONCE:
                return False
            self._own_reads += 1
            return True

    def end_own_read(self) -> None:
        with self._lock:
            self._own_reads -= 1

    def remove(self, waiter: Waiter) -> None:
        """Remove a client. Does nothing if it was removed already."""
        with self._lock:
            self._fresh.pop(waiter, None)
            of_key = self._waiters.get(waiter.key)
            if of_key is None or waiter not in of_key:
                return
            del of_key[waiter]
            if not of_key:
                del self._waiters[waiter.key]
            self._count -= 1
            if waiter.network is not None:
                self._of_networks[waiter.network] -= 1
                if not self._of_networks[waiter.network]:
                    del self._of_networks[waiter.network]

    def stop(self) -> None:
        """Let all waits end soon with what is known, because the server stops."""
        with self._lock:
            self._stopping = True
            waiters = [waiter for of_key in self._waiters.values() for waiter in of_key]
        for waiter in waiters:
            waiter.stop()

    def again(self, waiter: Waiter) -> None:
        """Update a client in the next look in any case, because its read was older than its last update."""
        with self._lock:
            if waiter in self._waiters.get(waiter.key, ()):
                self._fresh[waiter] = None

    def _look_while_any(self) -> None:
        while True:
            try:
                self.look()
            except Exception as error:
                FAILURES.report(_log, logging.WARNING, "waiting clients cannot be updated", error=error)
                self._fail_those_due(error)
            with self._lock:
                if not self._count:
                    self._running_in = self._heads = None
                    return
            time.sleep(TICK_SECONDS)

    def look(self) -> None:
        """Look once, and update the waiters concerned. Only its own thread and tests call it."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        try:
            look = self._reads.run_read(self._look, fresh)
        except BaseException:
            with self._lock:
                self._fresh = {**fresh, **self._fresh}
            raise
        # A replica may be behind an earlier read. Then the changes it does not show yet are read again.
        self._heads = look.heads
        self.looked_to = None
        now = self.monotonic()
        for waiter in in_turns(look.waiters):
            row = None if isinstance(waiter.key, str) else look.rows.get(waiter.key)
            if waiter.update(row, look.heads, last=waiter.until <= now):
                self.remove(waiter)
            waiter.wake()
        self.looked_to = look.heads

    def _look(self, connection: Connection, fresh: Collection[Waiter]) -> _Look:
        heads = load_heads(connection)
        # In the first look all waiters are new.
        changed = Changed() if self._heads is None else changed_since(connection, self._heads, heads)
        whom = self._whom(self._touched(connection, changed), fresh)
        rows = _rows(connection, {waiter.key for waiter in whom if waiter.reads_row})
        return _Look(heads, whom, rows)

    def _touched(self, connection: Connection, changed: Changed) -> set[Key]:
        """The keys that changed and that a client waits for."""
        with self._lock:
            waited = set(self._waiters)
        touched: set[Key] = waited & changed.transfers
        if any(isinstance(key, str) for key in waited):
            touched |= waited & (changed.accounts | accounts_of(connection, changed.transfers))
        return touched

    def _whom(self, touched: Iterable[Key], fresh: Iterable[Waiter]) -> Collection[Waiter]:
        """Those who wait for one of these, are new, or have waited for long enough."""
        now = self.monotonic()
        with self._lock:
            whom = {waiter: None for key in touched for waiter in self._waiters.get(key, ())}
            whom |= {waiter: None for waiter in fresh if waiter in self._waiters.get(waiter.key, ())}
            whom |= {
                waiter: None
                for waiters in self._waiters.values()
                for waiter in waiters
                if waiter.until <= now
            }
        return whom

    def _fail_those_due(self, error: Exception) -> None:
        now = self.monotonic()
        with self._lock:
            due = [waiter for waiters in self._waiters.values() for waiter in waiters if waiter.until <= now]
        for waiter in due:
            waiter.failed(error)
            self.remove(waiter)
            waiter.wake()


def _busy(what: str, reason: Reason) -> GatewayError:
    return GatewayError(
        f"{what}: request the status instead, and wait again later",
        reason=reason,
        retry_after=BUSY_RETRY_SECONDS,
    )


def _rows(connection: Connection, keys: Iterable[Key]) -> Mapping[TransferId, TransferRow]:
    ids = [key for key in keys if not isinstance(key, str)]
    rows: dict[TransferId, TransferRow] = {}
    for start in range(0, len(ids), ROWS_AT_ONCE):
        rows.update(transfer_rows(connection, ids[start : start + ROWS_AT_ONCE]))
    return rows
