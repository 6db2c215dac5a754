"""What a worker tells of itself is what it is."""

from __future__ import annotations

import threading
import time

import pytest
from flask import Flask
from prometheus_client import generate_latest
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.metrics.process import CONFIG_GOOD_AT, ProcessMetrics
from app.models.engine import reading
from app.runtime.gateway import Gateway, current_gateway
from tests.metrics.counted import Series, series, value


def told(metrics: ProcessMetrics, gateway: Gateway) -> Series:
    metrics.tell(gateway)
    return series(generate_latest(metrics._registry))


def test_connections_are_told_by_what_they_are_for(app: Flask) -> None:
    gateway, metrics = current_gateway(), ProcessMetrics()
    with reading(gateway.reads), reading(gateway.reads), reading(gateway.feed):
        found = told(metrics, gateway)
        assert value(found, "gateway_database_connections", pool="reads", state="in_use") == 2
        assert value(found, "gateway_database_connections", pool="feed", state="in_use") == 1
        assert value(found, "gateway_database_connections", pool="console", state="in_use") == 0
    found = told(metrics, gateway)
    assert value(found, "gateway_database_connections", pool="reads", state="in_use") == 0
    assert (value(found, "gateway_database_connections", pool="reads", state="idle") or 0) >= 2
    assert value(found, "gateway_workers") == 1
    assert value(found, "gateway_waiters") == 0
    assert value(found, "gateway_replica_in_use") == 0


def test_who_waits_for_a_connection_is_told_and_who_got_none_is_counted(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, metrics = current_gateway(), ProcessMetrics()
    pool = gateway.feed.pool
    monkeypatch.setattr(pool, "_timeout", 0.5)
    held = [gateway.feed.connect() for _ in range(2)]
    refused: list[Exception] = []

    def ask() -> None:
        try:
            gateway.feed.connect().close()
        except PoolTimeout as error:
            refused.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    end = time.monotonic() + 10
    while value(told(metrics, gateway), "gateway_database_connections", pool="feed", state="waiting") != 1:
        assert time.monotonic() < end
        time.sleep(0.01)
    waiting.join()
    for each in held:
        each.close()
    assert len(refused) == 1
    for _ in range(2):  # told twice, counted once
        assert value(told(metrics, gateway), "gateway_database_wait_timeouts_total") == 1
    gateway.feed.dispose()
    assert value(told(metrics, gateway), "gateway_database_wait_timeouts_total") == 1


def test_the_age_of_the_configuration_is_told_once_there_is_one(app: Flask) -> None:
    gateway, metrics = current_gateway(), ProcessMetrics()
    assert value(told(metrics, gateway), CONFIG_GOOD_AT) is None
    gateway.snapshots.current()
    assert 0 <= time.monotonic() - (value(told(metrics, gateway), CONFIG_GOOD_AT) or 0) < 10


def test_the_oldest_kept_facts_of_the_last_moment_are_told(app: Flask) -> None:
    gateway, metrics = current_gateway(), ProcessMetrics()
    gateway.kept_reads.ask("key", lambda: 1)
    time.sleep(0.05)
    gateway.kept_reads.ask("key", lambda: 2)
    gateway.kept_reads.ask("another", lambda: 3)
    assert (value(told(metrics, gateway), "gateway_facts_age_seconds") or 0) >= 0.05
    assert value(told(metrics, gateway), "gateway_facts_age_seconds") == 0
