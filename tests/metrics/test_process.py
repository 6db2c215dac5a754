"""What a worker reports of itself."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from flask import Flask
from prometheus_client import generate_latest
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.audit.anchors import Anchors
from app.audit.keys import AuditKeys
from app.db.database import FEED_CONNECTIONS, Database
from app.db.engine import connected, reading
from app.http.application import add_part, part_of
from app.http.limits import Limit, LimitStore
from app.monitoring.figures import CONFIG_GOOD_AT, ProcessMetrics
from app.network.snapshot import SnapshotSource
from app.values.times import system_clock
from tests.metrics.counted import Series, series, value
from tests.metrics.exposed import report, with_replica


def exposed(metrics: ProcessMetrics, app: Flask) -> Series:
    report(metrics, app)
    return series(generate_latest(metrics._registry))


def test_connections_are_reported_by_purpose(app: Flask, database: Database) -> None:
    metrics = ProcessMetrics()
    with reading(database.reads), reading(database.reads), reading(database.feed):
        found = exposed(metrics, app)
        assert value(found, "gateway_database_connections", pool="reads", state="in_use") == 2
        assert value(found, "gateway_database_connections", pool="feed", state="in_use") == 1
        assert value(found, "gateway_database_connections", pool="console", state="in_use") == 0
    found = exposed(metrics, app)
    assert value(found, "gateway_database_connections", pool="reads", state="in_use") == 0
    assert (value(found, "gateway_database_connections", pool="reads", state="idle") or 0) >= 2
    assert value(found, "gateway_workers") == 1
    assert value(found, "gateway_waiters") == 0


def test_waiters_and_timeouts_are_counted(
    app: Flask, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    metrics, timeouts = ProcessMetrics(), "gateway_database_wait_timeouts_total"
    monkeypatch.setattr(database.feed.pool, "_timeout", 0.5)
    before = value(exposed(metrics, app), timeouts)  # the process is that of other tests, too
    assert before is not None
    refused: list[Exception] = []

    def connect() -> None:
        try:
            with connected(database.feed):
                pass
        except PoolTimeout as error:
            refused.append(error)

    with ExitStack() as held:
        for _ in range(FEED_CONNECTIONS):
            held.enter_context(connected(database.feed))
        waiting = threading.Thread(target=connect)
        waiting.start()
        end = time.monotonic() + 10
        while value(exposed(metrics, app), "gateway_database_connections", pool="feed", state="waiting") != 1:
            assert time.monotonic() < end
            time.sleep(0.01)
        waiting.join()
    assert len(refused) == 1
    for _ in range(2):  # reported twice, counted once
        assert value(exposed(metrics, app), timeouts) == before + 1
    database.feed.dispose()
    assert value(exposed(metrics, app), timeouts) == before + 1


def test_unconfigured_parts_are_not_reported(app: Flask) -> None:
    names = {name for name, _ in exposed(ProcessMetrics(), app)}
    optional = {"gateway_replica_in_use", "gateway_replica_lag_bytes", "gateway_limits_shared"}
    assert not names & (optional | {"gateway_audit_heads_noted"})


@pytest.mark.parametrize("used", [True, False])
def test_replica_is_reported(app: Flask, *, used: bool) -> None:
    found = exposed(ProcessMetrics(), with_replica(app, used=used))
    assert value(found, "gateway_replica_in_use") == used
    assert value(found, "gateway_replica_lag_bytes") == 7


def test_missing_limit_store_is_reported(app: Flask) -> None:
    metrics = ProcessMetrics()
    add_part(app, LimitStore, LimitStore("redis://127.0.0.1:1/0"))
    assert value(exposed(metrics, app), "gateway_limits_shared") == 1
    part_of(app, LimitStore).count("somebody", [Limit(5, 60)])
    assert value(exposed(metrics, app), "gateway_limits_shared") == 0


def test_failed_head_note_is_reported(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.audit.anchors.RETRY_SECONDS", 0.2)
    metrics = ProcessMetrics()
    anchors = Anchors([f"file:{tmp_path}/not-there/heads"])
    add_part(app, AuditKeys, AuditKeys("k" * 40, (), tmp_path / "key", anchors))
    assert value(exposed(metrics, app), "gateway_audit_heads_noted") == 1
    anchors.note(f"1:{'0' * 64}", system_clock())
    assert value(exposed(metrics, app), "gateway_audit_heads_noted") == 0
    (tmp_path / "not-there").mkdir()
    end = time.monotonic() + 10
    while value(exposed(metrics, app), "gateway_audit_heads_noted") != 1:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_configuration_age_is_reported_once_known(app: Flask, snapshots: SnapshotSource) -> None:
    metrics = ProcessMetrics()
    assert value(exposed(metrics, app), CONFIG_GOOD_AT) is None
    snapshots.current()
    assert 0 <= time.monotonic() - (value(exposed(metrics, app), CONFIG_GOOD_AT) or 0) < 10


def test_oldest_used_facts_are_reported(app: Flask, database: Database) -> None:
    metrics = ProcessMetrics()
    database.cached.run_read("key", lambda: 1)
    time.sleep(0.05)
    database.cached.run_read("key", lambda: 2)
    database.cached.run_read("another", lambda: 3)
    assert (value(exposed(metrics, app), "gateway_facts_age_seconds") or 0) >= 0.05
    assert value(exposed(metrics, app), "gateway_facts_age_seconds") == 0
