"""Which replica is fresh enough to be read, and which is left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from app.db import replica as replica_module
from app.db.database import Database
from app.db.replica import MAX_SILENCE_SECONDS, Replica
from app.http.application import part_of
from tests.replicas.cluster import Cluster
from tests.replicas.conftest import eventually
from tests.timer import Timer

pytestmark = pytest.mark.postgresql

MAX_LAG = 5.0


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def replica(cold_app: Flask, timer: Timer) -> Iterator[Replica]:
    """As the gateway has it, but checked by the test only, on the test's time."""
    database = part_of(cold_app, Database)
    of_gateway = database.public.replica
    assert of_gateway is not None
    replica = Replica(of_gateway.engine, database.reads, MAX_LAG, timer)
    replica._watch = lambda: None  # type: ignore[method-assign]
    yield replica
    of_gateway.close()


def good(replica: Replica) -> bool:
    replica.check()
    return replica.is_usable()


def write(servers: Cluster) -> None:
    """Make the primary's log longer."""
    servers.primary.run("CREATE TABLE IF NOT EXISTS written (n int)", "INSERT INTO written VALUES (1)")


def test_replica_is_unused_before_first_look(replica: Replica) -> None:
    assert not replica.is_usable()
    eventually(lambda: good(replica))


def test_idle_primary_makes_no_lag(replica: Replica, timer: Timer) -> None:
    eventually(lambda: good(replica))
    timer.now += 1000
    assert good(replica)


def test_replica_is_unused_without_recent_look(replica: Replica, timer: Timer) -> None:
    eventually(lambda: good(replica))
    timer.now += MAX_LAG
    assert replica.is_usable()
    timer.now += 0.1
    assert not replica.is_usable()


def test_lagging_replica_is_left_out_meanwhile(servers: Cluster, replica: Replica, timer: Timer) -> None:
    eventually(lambda: good(replica))
    servers.replica.run("SELECT pg_wal_replay_pause()")
    eventually(lambda: servers.replica.run("SELECT pg_get_wal_replay_pause_state()") == "paused")
    try:
        write(servers)
        timer.now += 1
        assert good(replica), "it shows what was there a second ago"
        timer.now += MAX_LAG
        assert not good(replica)
        timer.now += MAX_LAG
        assert not good(replica), "a check makes nothing fresh"
    finally:
        servers.replica.run("SELECT pg_wal_replay_resume()")
    eventually(lambda: good(replica))


def test_disconnected_replica_is_left_out(servers: Cluster, replica: Replica, timer: Timer) -> None:
    """It has replayed all that it received, which is not all there is."""
    conninfo = servers.replica.run("SHOW primary_conninfo")
    eventually(lambda: good(replica))
    servers.replica.run("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
    eventually(lambda: servers.replica.run("SELECT count(*) FROM pg_stat_wal_receiver") == 0)
    try:
        write(servers)
        timer.now += MAX_LAG + 1
        assert not good(replica)
    finally:
        quoted = conninfo.replace("'", "''")
        servers.replica.run(f"ALTER SYSTEM SET primary_conninfo = '{quoted}'", "SELECT pg_reload_conf()")
    eventually(lambda: good(replica))


def test_fresh_replica_serves_in_outage(servers: Cluster, replica: Replica, timer: Timer) -> None:
    """For a minute."""
    eventually(lambda: good(replica))
    timer.now += MAX_LAG - 1
    with servers.primary.hanging():
        assert good(replica)
        timer.now += MAX_SILENCE_SECONDS
        assert good(replica), "until another server has become the primary"
        timer.now += 1
        assert not good(replica)
    eventually(lambda: good(replica))


def test_lagging_replica_stays_unused_in_outage(servers: Cluster, replica: Replica, timer: Timer) -> None:
    """Of the primary."""
    eventually(lambda: good(replica))
    timer.now += MAX_LAG + 1
    with servers.primary.hanging():
        assert not good(replica)
    eventually(lambda: good(replica))


def test_promoted_replica_serves_in_outage(
    servers: Cluster, replica: Replica, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    eventually(lambda: good(replica))
    with servers.primary.hanging(), monkeypatch.context() as promoted:
        assert good(replica)
        promoted.setattr(replica_module, "replayed_position", lambda _: None)
        assert good(replica)
        timer.now += MAX_SILENCE_SECONDS + 1
        assert not good(replica)
    eventually(lambda: good(replica))
    monkeypatch.setattr(replica_module, "replayed_position", lambda _: None)
    assert not good(replica), "the primary answers"


def test_primary_is_no_replica(cold_app: Flask, timer: Timer, caplog: pytest.LogCaptureFixture) -> None:
    reads = part_of(cold_app, Database).reads
    mistaken = Replica(reads, reads, MAX_LAG, timer)
    mistaken.check()
    assert mistaken._shows_until == float("-inf")
    assert "is not a replica" in caplog.text


def test_repeated_failure_lengthens_the_pause(replica: Replica, timer: Timer) -> None:
    eventually(lambda: good(replica))
    error = OperationalError("SELECT", {}, Exception("gone"))
    pauses = []
    for _ in range(7):
        replica.failed(error)
        replica.failed(error)  # of another thread, at the same moment
        start = timer.now
        while not good(replica):
            timer.now += 1
        pauses.append(timer.now - start)
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    timer.now += 100
    assert good(replica)
    replica.failed(error)
    timer.now += 1
    assert good(replica), "what it did long ago is forgotten"
