"""All chains of one process: a thread for each, one that renews their leases, and how they all end."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Collection, Mapping
from threading import Event, Thread
from typing import Final

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.network.snapshot import SnapshotSource
from app.network.watch_terms import WatchTerms
from app.values.identifiers import ChainId
from app.watcher.loop.reader import WriterShare
from app.watcher.loop.task import ChainTask, LeaseHolder
from app.watcher.rpc.client import Client
from app.watcher.rpc.node import Node
from app.watcher.rpc.nodes import Nodes, Trouble
from app.watcher.services.chains import watch_terms

LOOK_SECONDS: Final = 2.0
"""Between two looks at whether the configuration has one more chain."""

END_SECONDS: Final = 20.0
"""For the running batches at the end."""


class Watcher:
    """Watches chains in threads of this process.

    Threads, not asyncio: the database takes the time, and its services block. Twenty threads that wait cost
    nothing (docs/decisions/0024-reading-chains.md).

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
        self.tasks: dict[ChainId, ChainTask] = {}
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def stop(self) -> None:
        """Let every chain end its current batch. Returns at once; for signal handlers."""
        self._stop.set()

    def run(self, every: Callable[[], None] = lambda: None, seconds: float = LOOK_SECONDS) -> None:
        """Watch until :meth:`stop`, then end every batch and release the leases.

        :param every: called again and again while it watches.
        :param seconds: between two of these calls.
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
        """Start a thread for each chain that is to be watched and has none."""
        for chain_id in watch_terms(self._snapshots):
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
            )
            self.tasks[chain_id] = task
            self._threads[chain_id] = Thread(target=task.run, name=f"chain {chain_id}", daemon=True)
            self._threads[chain_id].start()

    def _nodes(self, terms: WatchTerms, note: Callable[[Trouble], None]) -> Nodes:
        return make_nodes(terms, self._urls, self._monotonic, note)


def make_nodes(
    terms: WatchTerms,
    rpc_urls: Mapping[str, str],
    monotonic: Callable[[], float],
    note: Callable[[Trouble], None] = lambda _trouble: None,
) -> Nodes:
    """The nodes of a chain whose URLs are set."""
    for name in terms.rpc:
        if name not in rpc_urls:
            note(Trouble(name, f"{name} is not set in the environment of the watcher"))
    nodes = [
        Node(name, terms.chain_id, Client(rpc_urls[name], monotonic=monotonic))
        for name in terms.rpc
        if name in rpc_urls
    ]
    return Nodes(nodes, monotonic, note)
