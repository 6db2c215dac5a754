"""One watcher a chain: who has the lease, who takes it over, and what a former holder can still do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.values.identifiers import ChainId
from app.watcher.services.advance import advance
from app.watcher.services.lease import Lease, LeaseLost, give, halt, note_fault, renew, take
from app.watcher.services.readings import load
from tests.builders.clock import MovableClock
from tests.watcher.services.world import CHAIN, block, sent_event, step


def taken(database: Database, owner: str = "a", seconds: float = 8) -> Lease:
    lease = take(database, CHAIN, owner, seconds)
    assert lease is not None
    return lease


def test_lease_of_chain_has_one_holder(database: Database) -> None:
    assert taken(database, "a").epoch == 1
    assert take(database, CHAIN, "b", 8) is None
    assert take(database, CHAIN, "a", 8) is None
    other = take(database, ChainId(2), "b", 8)
    assert other is not None and other.epoch == 1


def test_standby_replaces_expired_holder(database: Database, clock: MovableClock) -> None:
    old = taken(database, "a", seconds=8)
    clock.forward(seconds=7)
    renew(database, old, 8)
    clock.forward(seconds=7)
    assert take(database, CHAIN, "b", 8) is None
    clock.forward(seconds=2)
    new = taken(database, "b")
    assert new.epoch == old.epoch + 1


def test_clock_set_back_frees_lease(database: Database, clock: MovableClock) -> None:
    """Its holder ended before the clock was corrected."""
    clock.forward(seconds=86_400)
    old = taken(database, "a", seconds=8)
    clock.forward(seconds=-86_400)
    assert taken(database, "b", seconds=8).epoch == old.epoch + 1


def test_slow_clock_waits_for_holder(database: Database, clock: MovableClock) -> None:
    taken(database, "a", seconds=8)
    clock.forward(seconds=-5)
    assert take(database, CHAIN, "b", 8) is None


def test_returned_lease_is_free_at_once(database: Database) -> None:
    give(database, taken(database, "a"))
    assert taken(database, "b").epoch == 2


def test_former_holder_writes_nothing(database: Database, intake: Intake, clock: MovableClock) -> None:
    old = taken(database, "a")
    clock.forward(seconds=60)
    new = taken(database, "b")
    with pytest.raises(LeaseLost):
        advance(database, intake, old, step(events=[sent_event(1)], live_to=block(100), live_from=100))
    for write in (
        lambda: renew(database, old, 8),
        lambda: note_fault(database, old, "late"),
        lambda: halt(database, old, "late"),
    ):
        with pytest.raises(LeaseLost):
            write()
    give(database, old)  # nothing, and no error: who ends may have lost it
    readings = load(database, CHAIN)
    assert (readings.live_to, readings.stopped) == (None, None)
    renew(database, new, 8)
    assert advance(database, intake, new, step(events=[sent_event(1)])).accepted == 1


def test_expired_untaken_lease_still_counts(database: Database, intake: Intake, clock: MovableClock) -> None:
    """What was read is not lost because a heartbeat was late."""
    lease = taken(database)
    clock.forward(seconds=60)
    assert advance(database, intake, lease, step(events=[sent_event(1)])).accepted == 1
    renew(database, lease, 8)


def test_halted_chain_has_no_lease(database: Database, clock: MovableClock) -> None:
    lease = taken(database)
    halt(database, lease, "the nodes are of another chain")
    clock.forward(seconds=60)
    assert take(database, CHAIN, "b", 8) is None
    with pytest.raises(LeaseLost):
        renew(database, lease, 8)
    assert load(database, CHAIN).stopped == "the nodes are of another chain"


def test_one_of_many_gets_lease(app: Flask, database: Database) -> None:
    def come(n: int) -> Lease | None:
        with app.app_context():
            return take(database, CHAIN, f"watcher {n}", 8)

    with ThreadPoolExecutor(4) as pool:
        leases = [lease for lease in pool.map(come, range(8)) if lease is not None]
    assert [lease.epoch for lease in leases] == [1]
