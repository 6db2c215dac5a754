"""All chains of one process: a thread for each, one that renews their leases, and how they all end.

A chain's thread takes the lease, reads, and gives way, for as long as the process runs.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Collection, Mapping
from threading import Event, Lock, Thread
from typing import Final

from msgspec import Struct

from app.db.database import Database
from app.db.writes import is_unavailable
from app.feed.services.ingest import Intake
from app.network.rules.watch_terms import WatchTerms
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.values.errors import Unavailable
from app.values.identifiers import ChainId
from app.watcher.loop.faults import FaultBook
from app.watcher.loop.reader import Reader
from app.watcher.loop.view import TooDeep, View
from app.watcher.loop.writer_share import WriterShare
from app.watcher.rpc.faults import NoNode, RpcFault
from app.watcher.rpc.nodes import Nodes, Trouble, make_nodes
from app.watcher.services.advance import StepRefused
from app.watcher.services.chains import watch_terms, watched_network
from app.watcher.services.lease import Lease, LeaseLost, give, halt, renew, take
from app.watcher.services.readings import follow_terms, load

LEASE_SECONDS: Final = 8.0
"""A standby looks at it every second: it takes over within ten."""

RENEW_SECONDS: Final = 2.5
STUCK_SECONDS: Final = 300.0
"""Without a sign of life for so long, a chain's thread is given up: a standby may take its lease, and the
heartbeat of the process ends."""

_log = logging.getLogger(__name__)


class LeaseHolder:
    """Renews the leases that are held, while those who read under them are at work.

    :param monotonic: seconds that never go back.
    """

    def __init__(self, database: Database, monotonic: Callable[[], float]) -> None:
        self._database = database
        self._monotonic = monotonic
        self._held: dict[Lease, ChainTask] = {}
        self._lock = Lock()
        self.seen = monotonic()

    def hold(self, lease: Lease, task: ChainTask) -> None:
        with self._lock:
            self._held[lease] = task

    def drop(self, lease: Lease) -> None:
        with self._lock:
            self._held.pop(lease, None)

    def run(self, stop: Event) -> None:
        """Renew the leases until the process ends; the body of a thread."""
        while not stop.wait(RENEW_SECONDS):
            self.seen = self._monotonic()
            self.renew_all()

    def renew_all(self) -> None:
        """Renew every lease whose thread was at work lately."""
        with self._lock:
            held = dict(self._held)
        for lease, task in held.items():
            self.seen = self._monotonic()
            if self.seen - task.seen > STUCK_SECONDS:
                _log.error("chain %d: the reader does not respond, the lease is released", lease.chain_id)
                self.drop(lease)
                continue
            try:
                renew(self._database, lease, LEASE_SECONDS)
            except LeaseLost:
                self.drop(lease)
            except Exception as error:  # the database is unreachable: its epoch shows if the lease is lost
                FAILURES.report(
                    _log, logging.WARNING, "chain %d: the lease cannot be renewed", lease.chain_id,
                    error=error, traced=False,
                )  # fmt: skip


STANDBY_SECONDS: Final = 1.0
"""Between two looks at a lease that another watcher has."""

LONGEST_SLEEP: Final = 5.0
"""So the thread shows that it is alive, and notices other terms, even between rare polls."""

MOVED_SECONDS: Final = 0.5
LONGEST_WAIT: Final = 60.0
FAULT_SECONDS: Final = (1.0, 5.0, 15.0, 60.0)
"""After one, two … faults of this program or of the database in a row."""

NodesOf = Callable[[WatchTerms, Callable[[Trouble], None]], Nodes]
"""Makes the nodes of a chain; the second argument is called with what goes wrong with them."""


class NotWatched(Exception):
    pass


class ChainTask(Struct):
    """Watches one chain. ``run`` is the body of its thread.

    :param owner: names this process in the lease.
    :param stop: set when the process has to end.
    :param monotonic: seconds that never go back.
    :param view: what is known while the lease is held; for the progress shown on a terminal.
    :param seen: when its thread was last at work.
    """

    database: Database
    snapshots: SnapshotSource
    intake: Intake
    chain_id: ChainId
    owner: str
    stop: Event
    holder: LeaseHolder
    share: WriterShare
    nodes_of: NodesOf
    monotonic: Callable[[], float]
    view: View | None = None
    faults_in_a_row: int = 0
    seen: float = 0.0

    def run(self) -> None:
        """Watch until the process has to end. What fails is tried again."""
        while not self.stop.is_set():
            self.seen = self.monotonic()
            try:
                self._turn()
                self.faults_in_a_row = 0
            except LeaseLost:
                _log.info("chain %d: another watcher reads it now, or reading was stopped", self.chain_id)
                self.stop.wait(STANDBY_SECONDS)
            except NotWatched:
                self.stop.wait(STANDBY_SECONDS)
            except Exception as error:
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        wait = FAULT_SECONDS[min(self.faults_in_a_row, len(FAULT_SECONDS) - 1)]
        self.faults_in_a_row += 1
        known = is_unavailable(error)
        level = logging.WARNING if known else logging.ERROR
        FAILURES.report(
            _log, level, "chain %d: %s; trying again in %g seconds",
            self.chain_id, type(error).__name__, wait, error=error, traced=not known,
        )  # fmt: skip
        self.stop.wait(wait)

    def _turn(self) -> None:
        terms = self._terms()
        lease = take(self.database, self.chain_id, self.owner, LEASE_SECONDS)
        if lease is None:
            self.stop.wait(STANDBY_SECONDS)
            return
        _log.info("chain %d: reading started", self.chain_id)
        self.holder.hold(lease, self)
        try:
            while not self.stop.is_set():
                self._watch(lease, terms)
                terms = self._terms()
        finally:
            self.view = None
            self.holder.drop(lease)
            give(self.database, lease)

    def _terms(self) -> WatchTerms:
        terms = watch_terms(self.snapshots).get(self.chain_id)
        if terms is None:
            raise NotWatched
        return terms

    def _watch(self, lease: Lease, terms: WatchTerms) -> None:
        """Read on these terms until they change."""
        follow_terms(self.database, lease, terms)
        faults = FaultBook(self.database, self.chain_id, self.monotonic)
        nodes = self.nodes_of(terms, faults.note)
        try:
            self.view = View(
                terms=terms,
                network=watched_network(self.database, self.snapshots),
                nodes=nodes,
                readings=load(self.database, self.chain_id),
                clock=self.database.clock,
                monotonic=self.monotonic,
                max_reorg=self.intake.max_reorg_blocks,
            )
            self._read(Reader(self.database, self.intake, lease, self.view, self.share, faults))
        finally:
            nodes.close()

    def _read(self, reader: Reader) -> None:
        """Poll when it is due, and do what is not urgent in between, until the terms change."""
        terms = reader.view.terms
        next_poll = self.monotonic()
        while not self.stop.is_set():
            self.seen = self.monotonic()
            if self._terms() != terms:
                return
            reader.view.network = watched_network(self.database, self.snapshots)
            now = self.monotonic()
            if now >= next_poll:
                next_poll = now + self._polled(reader)
            else:
                idle = self._guarded(reader, reader.background)
                until_poll = max(0.0, next_poll - self.monotonic())
                self.stop.wait(min(until_poll, LONGEST_SLEEP if idle is None else idle))
            self.faults_in_a_row = 0

    def _polled(self, reader: Reader) -> float:
        """Poll once. Returns the seconds until the next."""
        poll_seconds = reader.view.terms.poll_seconds
        wait = self._guarded(reader, lambda: 0.0 if reader.poll() else poll_seconds)
        reader.faults.write(reader.lease)
        return poll_seconds if wait is None else wait

    def _guarded(self, reader: Reader, work: Callable[[], float | None]) -> float | None:
        """The result of the work, or the seconds to wait where it failed.

        :raises LeaseLost: the chain was stopped, because only an operator can decide how it goes on.
        """
        try:
            return work()
        except RpcFault as fault:
            return self._after(reader, fault)
        except (StepRefused, TooDeep) as refused:
            if isinstance(refused, TooDeep) or not refused.passing:
                self._halt(reader, str(refused))
            reader.faults.note(Trouble(reader.view.source, str(refused)))
            return reader.view.terms.poll_seconds

    def _after(self, reader: Reader, fault: RpcFault) -> float:
        """The seconds to wait after nodes failed."""
        if isinstance(fault, NoNode):
            reader.faults.note(Trouble("", str(fault)))
            return min(fault.seconds, LONGEST_WAIT)
        reader.faults.note(Trouble(reader.view.source, str(fault)))
        return min(MOVED_SECONDS, reader.view.terms.poll_seconds)

    def _halt(self, reader: Reader, reason: str) -> None:
        """Stop the chain until an operator starts it.

        :raises LeaseLost: always: it is not read any more.
        """
        _log.error("chain %d: reading stopped: %s", self.chain_id, reason)
        halt(self.database, reader.lease, reason)
        raise LeaseLost(reader.lease)


LOOK_SECONDS: Final = 2.0
"""Between two looks at whether the configuration has one more chain."""

END_SECONDS: Final = 20.0
"""For the running batches at the end."""


class Watcher:
    """Watches chains in threads of this process: its services block (docs/decisions/0024-reading-chains.md).

    :param rpc_urls: the URLs by the names of their variables.
    :param only: the chains to watch; None for all that are configured.
    :param monotonic: seconds that never go back.
    """

    def __init__(
        self,
        database: Database,
        snapshots: SnapshotSource,
        intake: Intake,
        rpc_urls: Mapping[str, str],
        monotonic: Callable[[], float],
        only: Collection[ChainId] | None = None,
    ) -> None:
        self._database = database
        self._snapshots = snapshots
        self._intake = intake
        self._urls = rpc_urls
        self._monotonic = monotonic
        self._only = only
        self._stop = Event()
        self._holder = LeaseHolder(database, monotonic)
        self._share = WriterShare(monotonic)
        self._threads: dict[ChainId, Thread] = {}
        self._is_read = True
        self.tasks: dict[ChainId, ChainTask] = {}
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def stop(self) -> None:
        """Let every chain end its current batch. Returns at once; for signal handlers."""
        self._stop.set()

    def works(self) -> bool:
        """Whether every thread was at work lately."""
        seen = min([self._holder.seen, *(task.seen for task in self.tasks.values())])
        return self._monotonic() - seen <= STUCK_SECONDS

    def run(self, every: Callable[[], None] = lambda: None, seconds: float = LOOK_SECONDS) -> None:
        """Watch until :meth:`stop`, then end every batch and release the leases.

        :param every: called again and again while it watches, ``seconds`` apart.
        """
        ended = Event()
        renewing = Thread(target=self._holder.run, args=(ended,), name="leases", daemon=True)
        renewing.start()
        try:
            while not self._stop.is_set():
                self._start_new()
                every()
                self._stop.wait(seconds)
        finally:
            self._stop.set()
            deadline = self._monotonic() + END_SECONDS
            for thread in self._threads.values():
                thread.join(max(0.0, deadline - self._monotonic()))
            ended.set()
            renewing.join(1.0)

    def _start_new(self) -> None:
        """Start a thread for each chain that is to be watched and has none.

        While the configuration cannot be read no chain is new. Those that have a thread wait by themselves.
        """
        try:
            terms = watch_terms(self._snapshots)
        except Unavailable:
            if self._is_read:
                _log.warning("the configuration cannot be read: no chain is added until it can")
            self._is_read = False
            return
        self._is_read = True
        for chain_id in terms:
            if chain_id in self._threads or (self._only is not None and chain_id not in self._only):
                continue
            task = ChainTask(
                self._database,
                self._snapshots,
                self._intake,
                chain_id,
                self.owner,
                self._stop,
                self._holder,
                self._share,
                self._nodes,
                self._monotonic,
                seen=self._monotonic(),
            )
            self.tasks[chain_id] = task
            self._threads[chain_id] = Thread(target=task.run, name=f"chain {chain_id}", daemon=True)
            self._threads[chain_id].start()

    def _nodes(self, terms: WatchTerms, note: Callable[[Trouble], None]) -> Nodes:
        return make_nodes(terms, self._urls, self._monotonic, note)
