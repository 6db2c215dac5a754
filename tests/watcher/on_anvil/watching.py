"""The watcher's own loop, one poll at a time, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flask import Flask

from app.db.database import Database
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.values.identifiers import ChainId
from app.watcher.loop.faults import FaultBook
from app.watcher.loop.reader import Reader
from app.watcher.rpc.client import Client
from app.watcher.rpc.faults import RpcFault
from app.watcher.rpc.node import Node
from app.watcher.rpc.nodes import Nodes, Trouble
from app.watcher.services.chains import watch_terms, watched_network
from app.watcher.services.lease import give, take
from app.watcher.services.readings import follow_terms
from tests.watcher.kit import make_reader

Urls = Mapping[int, Sequence[tuple[str, str]]]
"""Of each chain, the URLs with their names, the preferred one first."""

SECONDS = 30.0
"""Of the test's clock, from one poll to the next; what pauses is over by then, as a rule."""


@dataclass
class Watching:
    """One watcher of both chains, between a start and a stop."""

    app: Flask
    urls: Urls
    seconds: float = 0.0
    readers: dict[int, Reader] = field(default_factory=dict)
    troubles: list[tuple[int, Trouble]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def monotonic(self) -> float:
        """The test's clock."""
        return self.seconds

    def start(self, owner: str = "test") -> None:
        """Take the leases and go on where the last one stopped."""
        database = part_of(self.app, Database)
        for chain, terms in watch_terms(part_of(self.app, SnapshotSource)).items():
            lease = take(database, chain, owner, 60)
            assert lease is not None
            follow_terms(database, lease, terms)
            known = watched_network(database, part_of(self.app, SnapshotSource))
            book = FaultBook(database, chain, self.monotonic)
            self.readers[chain] = make_reader(
                self.app, lease, terms, known, self._nodes(chain), book, self.monotonic
            )

    def _nodes(self, chain: ChainId) -> Nodes:
        nodes = [Node(name, chain, Client(url, seconds=5.0)) for name, url in self.urls[chain]]
        return Nodes(nodes, self.monotonic, lambda trouble: self.troubles.append((chain, trouble)))

    def stop(self) -> None:
        """End as on SIGTERM."""
        for reader in self.readers.values():
            give(part_of(self.app, Database), reader.lease)
            reader.view.nodes.close()
        self.readers.clear()

    def poll(self, chain: int) -> bool:
        """One poll; whether it went well."""
        self.seconds += SECONDS
        try:
            self.readers[chain].poll()
        except RpcFault as fault:
            self.faults.append(f"{chain}: {fault}")
            return False
        return True
