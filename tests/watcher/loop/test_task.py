"""The thread of a chain, and what runs all chains: what stops them, what they live through.

A lease is given back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.network.rules.watch_terms import WatchTerms
from app.network.snapshot import SnapshotSource
from app.values.errors import Unavailable
from app.values.identifiers import ChainId
from app.watcher.loop import watcher as module
from app.watcher.loop.watcher import ChainTask, LeaseHolder, Watcher
from app.watcher.loop.writer_share import WriterShare
from app.watcher.rpc.node import Node
from app.watcher.rpc.nodes import Nodes, Trouble
from app.watcher.services.lease import LeaseLost
from app.watcher.services.readings import load
from tests.watcher.kit import CHAIN, NAMES, OTHER, Watched, client_of, network, send


class Waits(Event):
    """Ends the task after so many waits, and lets time pass instead of waiting."""

    def __init__(self, watched: Watched, most: int) -> None:
        super().__init__()
        self._watched, self._left = watched, most

    def wait(self, timeout: float | None = None) -> bool:
        self._watched.time.go(timeout or 0)
        self._left -= 1
        if self._left <= 0:
            self.set()
        return self.is_set()


@pytest.fixture
def make(
    database: Database,
    snapshots: SnapshotSource,
    intake: Intake,
    watched: Watched,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[int], ChainTask]:
    terms: dict[ChainId, WatchTerms] = {CHAIN: watched.terms()}
    monkeypatch.setattr(module, "watch_terms", lambda _gateway: terms)
    monkeypatch.setattr(module, "watched_network", lambda *_parts: network())

    def nodes_of(_terms: WatchTerms, note: Callable[[Trouble], None]) -> Nodes:
        node = Node(NAMES[0], CHAIN, client_of(watched.nodes[0], watched.time))
        return Nodes([node], watched.time, note)

    def task(waits: int) -> ChainTask:
        keeper, share = LeaseHolder(database, watched.time), WriterShare(watched.time)
        return ChainTask(
            database,
            snapshots,
            intake,
            CHAIN,
            "me",
            Waits(watched, waits),
            keeper,
            share,
            nodes_of,
            watched.time,
        )

    return task


def test_task_reads_and_releases_lease(watched: Watched, make: Callable[[int], ChainTask]) -> None:
    watched.chain.mine_many(20)
    watched.chain.mine(send(1))
    make(6).run()
    assert watched.answers["1"] == 1
    assert (watched.row.owner, watched.row.backfilled_to) == (None, 15)


def test_too_deep_reorg_stops_chain(watched: Watched, make: Callable[[int], ChainTask]) -> None:
    watched.chain.mine_many(80)
    make(4).run()
    watched.chain.reorg(70, [()] * 75)
    with pytest.raises(LeaseLost):
        make(4)._turn()
    assert "MAX_REORG_BLOCKS" in watched.row.stopped
    requests = watched.nodes[0].requests
    make(4).run()
    assert watched.nodes[0].requests == requests


def test_missing_database_is_waited_for(
    watched: Watched, make: Callable[[int], ChainTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.chain.mine(send(1))
    failed: list[int] = []

    def fails_twice(*arguments: Any) -> Any:
        if len(failed) < 2:
            failed.append(1)
            raise OperationalError("SELECT", {}, Exception("gone"))
        return load(*arguments)

    monkeypatch.setattr(module, "load", fails_twice)
    make(8).run()
    assert watched.answers["1"] == 1


def test_node_faults_are_stored_for_operators(watched: Watched, make: Callable[[int], ChainTask]) -> None:
    watched.nodes[0].chain_id = 5
    make(3).run()
    assert "it is a node of chain 5, not of 1" in watched.row.fault


class Answers:
    """The configuration's chains, one answer for each look. None is an outage."""

    def __init__(self, *chains: set[ChainId] | None) -> None:
        self.left = list(chains)

    def current(self) -> Any:
        found = self.left.pop(0)
        if found is None:
            raise Unavailable("the gateway cannot read its configuration: try again in a few seconds")
        return SimpleNamespace(watch_terms=dict.fromkeys(sorted(found)))


def test_watcher_waits_during_outage(
    database: Database,
    intake: Intake,
    watched: Watched,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    started: list[ChainId] = []
    monkeypatch.setattr(ChainTask, "run", lambda task: started.append(task.chain_id))
    answers = Answers({CHAIN}, None, None, None, {CHAIN, OTHER}, None, {CHAIN, OTHER})
    seen: list[int] = []
    watcher = Watcher(database, answers, intake, {}, watched.time)  # type: ignore[arg-type]

    def every() -> None:
        seen.append(len(watcher.tasks))
        if not answers.left:
            watcher.stop()

    with caplog.at_level(logging.WARNING, "app.watcher"):
        watcher.run(every, 0)
    assert seen == [1, 1, 1, 1, 2, 2, 2], "it looks again and again, and shows that it is alive"
    assert started == [CHAIN, OTHER], "each once"
    words = "the configuration cannot be read: no chain is added until it can"
    assert [record.getMessage() for record in caplog.records] == [words] * 2, "once an outage"
