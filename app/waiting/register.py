"""Those who wait for a transfer or an account to change: a bounded number, and one thread that looks for all.

The thread runs while somebody waits. Several times a second it asks how far the log reaches, reads what came,
and tells those whom it concerns. So who waits costs some hundred bytes here and no thread, and the database
is asked as often as if one of them were asking (docs/decisions/0043-waiting.md).
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
from app.waiting.queries import Heads, accounts_of, changed_since, load_heads

TICK_SECONDS: Final = 0.125
"""How long the thread pauses between two looks."""

BUSY_RETRY_SECONDS: Final = 5
"""When to try again where too many wait already."""

NETWORKS: Final = 4
"""Of the places one network may have one of so many: a single caller leaves most to the others."""

READS_AT_ONCE: Final = 16
"""How many who come may read for themselves at a time. For the others the thread reads in its next look."""

ROWS_AT_ONCE: Final = 500
"""Transfers read by one statement."""

_log = logging.getLogger(__name__)

Key = TransferId | str
"""What is waited for: a transfer, or an account as ``account_key`` writes it."""


class Waiter:
    """Somebody who waits. Its methods are called by the thread that looks: they neither wait nor raise."""

    __slots__ = ("key", "network", "until", "wake")

    reads_row = False
    """Whether it is told the row of its transfer."""

    def __init__(self, key: Key, until: float) -> None:
        """
        :param until: when to be told at the latest, whatever has happened; seconds of the monotonic clock.
        """
        self.key = key
        self.network: str | None = None
        """Where it comes from; set when it is added."""
        self.until = until
        self.wake: Callable[[], None] = _nothing
        """Called after it was told something. Set by whoever serves it."""

    def told(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        """Take in what is known now; whether the wait is over.

        :param row: of its transfer, None where it is not known; always None unless ``reads_row``.
        :param heads: how far the log reached when it was read.
        :param last: whether the time is over.
        """
        raise NotImplementedError

    def failed(self, error: Exception) -> None:
        """Nothing could be read, and the time is over."""
        raise NotImplementedError

    def stop(self) -> None:
        """The server ends: the next look is the last."""
        self.until = 0


def _nothing() -> None:
    pass


class _Look(Struct, frozen=True):
    """What one look has found: whom to tell, and the rows of the transfers that they wait for."""

    heads: Heads
    whom: Collection[Waiter]
    rows: Mapping[TransferId, TransferRow]


class Waiting:
    """The waiters of one process."""

    def __init__(
        self,
        public_reads: PublicReads,
        limit: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param public_reads: where answers are read. The thread reads there as well.
        :param limit: how many may wait at a time.
        """
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
        """Everybody was told of all that came up to here; None while they are being told."""
        self._heads: Heads | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def limit_of_network(self) -> int:
        """How many of one network may wait at a time."""
        return -(-self.limit // NETWORKS)

    def add(self, waiter: Waiter, network: str | None = None) -> None:
        """Have somebody told of changes from now on, and once in the next look in any case.

        What was read before may be older than what the thread has looked at already: that first time tells.

        :param network: what the caller is counted by (``counted_network``); None where there is no address.
        :raises GatewayError: too many wait already, of all or of this network.
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
            if self._running_in != os.getpid():  # threads do not survive a fork
                self._running_in = os.getpid()
                threading.Thread(target=self._look_while_any, name="waiting", daemon=True).start()

    def begin_own_read(self) -> bool:
        """Whether who was added may read what is known; otherwise the thread does in its next look.

        Who may says :meth:`end_own_read` afterwards.
        """
        with self._lock:
            if self._own_reads >= READS_AT_ONCE:
                return False
            self._own_reads += 1
            return True

    def end_own_read(self) -> None:
        """What was known is read."""
        with self._lock:
            self._own_reads -= 1

    def remove(self, waiter: Waiter) -> None:
        """Tell somebody no more; nothing where it is told no more already."""
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
        """The server ends: have all who wait come to an end soon, with what is known."""
        with self._lock:
            self._stopping = True
            waiters = [waiter for of_key in self._waiters.values() for waiter in of_key]
        for waiter in waiters:
            waiter.stop()

    def again(self, waiter: Waiter) -> None:
        """Tell somebody in the next look in any case: what they read was older than what came."""
        with self._lock:
            if waiter in self._waiters.get(waiter.key, ()):
                self._fresh[waiter] = None

    def _look_while_any(self) -> None:
        while True:
            try:
                self.look()
            except Exception as error:
                FAILURES.report(_log, logging.WARNING, "nothing can be told to those who wait", error=error)
                self._fail_those_due(error)
            with self._lock:
                if not self._count:
                    self._running_in = self._heads = None
                    return
            time.sleep(TICK_SECONDS)

    def look(self) -> None:
        """Look once, and tell those whom it concerns. Only its own thread and tests call it."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        try:
            look = self._reads.run_read(self._look, fresh)
        except BaseException:
            with self._lock:
                self._fresh = {**fresh, **self._fresh}
            raise
        # A replica may be behind what was read before: then what it has still to show is looked at again.
        self._heads = look.heads
        self.looked_to = None
        now = self.monotonic()
        for waiter in in_turns(look.whom):
            row = None if isinstance(waiter.key, str) else look.rows.get(waiter.key)
            if waiter.told(row, look.heads, last=waiter.until <= now):
                self.remove(waiter)
            waiter.wake()
        self.looked_to = look.heads

    def _look(self, connection: Connection, fresh: Collection[Waiter]) -> _Look:
        heads = load_heads(connection)
        # In its first look everybody is new.
        touched = self._touched(connection, self._heads, heads) if self._heads else ()
        whom = self._whom(touched, fresh)
        return _Look(heads, whom, _rows(connection, {waiter.key for waiter in whom if waiter.reads_row}))

    def _touched(self, connection: Connection, since: Heads, until: Heads) -> set[Key]:
        """What is waited for and has changed."""
        transfers, accounts = changed_since(connection, since, until)
        with self._lock:
            waited = set(self._waiters)
        touched: set[Key] = waited & transfers
        if any(isinstance(key, str) for key in waited):
            touched |= waited & (accounts | accounts_of(connection, transfers))
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
        f"{what}: ask for the status instead, and wait again later",
        reason=reason,
        retry_after=BUSY_RETRY_SECONDS,
    )


def _rows(connection: Connection, keys: Iterable[Key]) -> Mapping[TransferId, TransferRow]:
    ids = [key for key in keys if not isinstance(key, str)]
    rows: dict[TransferId, TransferRow] = {}
    for start in range(0, len(ids), ROWS_AT_ONCE):
        rows.update(transfer_rows(connection, ids[start : start + ROWS_AT_ONCE]))
    return rows
