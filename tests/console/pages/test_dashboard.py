"""The dashboard's reads: counts, stuck transfers, waiting refunds, pools; and they only use indexes."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import cached_property
from statistics import median
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, text

from app.console.dashboard.dashboard import Dashboard, anomalies_to_acknowledge, status_counts
from app.console.dashboard.freshness import Reading, freshness
from app.console.estimates.summary import estimate_summary
from app.console.latency import medians_of_the_week, slowest_pairs
from app.console.network.pools import pool_lines
from app.console.refunds import waiting_refunds
from app.console.transfers import stuck as rules
from app.console.transfers.stuck import stuck_transfers
from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import EstimateCount, PoolCounter
from app.estimates.queries import estimate_facts
from app.http.application import part_of
from app.latency.queries import ninth_tenths_by_pair, twice_medians_by_pair
from app.latency.rules.median import WINDOW
from app.network.models import Pool
from app.network.snapshot import SnapshotSource
from app.sandbox.catalogue import SANDBOX_LATENCIES
from app.transfers.queries import status as queries
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import ChainId, RouteKey
from app.values.times import Epoch
from tests.console.pages.plans import plans
from tests.console.projected import put, took
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)

PARTS = [name for name, value in vars(Dashboard).items() if isinstance(value, cached_property)]


def test_transfers_by_status(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = 3600
    put(
        database,
        *({"status": 5, "since": since} for since in (0, hour, 24 * hour, 24 * hour + 1, 7 * 24 * hour + 1)),
        {"status": 7, "since": 6 * 24 * hour},
        {"status": 0, "since": 0, "status_since": None},
    )
    counts = {count.status: (count.day.number, count.week.number) for count in status_counts(database)}
    assert counts.pop(Status.TRANSFER_COMPLETED) == (3, 4)
    assert counts.pop(Status.TRANSFER_REQUESTING_REFUND) == (0, 1)
    assert set(counts.values()) == {(0, 0)} and Status.TRANSFER_UNKNOWN not in counts
    monkeypatch.setattr(queries, "COUNTED", 3)
    monkeypatch.setattr("app.console.transfers.components.COUNTED", 3)
    (completed,) = [c for c in status_counts(database) if c.status is Status.TRANSFER_COMPLETED]
    assert (str(completed.week), completed.week.at_least) == ("3+", True)


def test_order_statistics_are_exact(database: Database) -> None:
    rng = random.Random(5)
    sizes = {(1, 2): 1, (2, 1): 2, (1, 3): 10, (3, 1): 11, (2, 3): 97}
    drawn = {pair: [rng.randrange(10**9) for _ in range(size)] for pair, size in sizes.items()}
    drawn[2, 3][:50] = [7] * 50
    for pair, latencies in drawn.items():
        took(database, *pair, *(us / 1_000_000 for us in latencies))
    took(database, 3, 2, 5, released=WINDOW.total_seconds())
    with reading(database.reads) as connection:
        twice = twice_medians_by_pair(connection, NOW - WINDOW, NOW)
        ninth_tenths = ninth_tenths_by_pair(connection, NOW - WINDOW, NOW)
    assert set(twice) == set(ninth_tenths) == set(drawn)
    for pair, latencies in drawn.items():
        ordered, (p90, count) = sorted(latencies), ninth_tenths[pair]
        assert count == len(ordered)
        assert twice[pair] == 2 * median(ordered)
        assert sum(us <= p90 for us in ordered) * 10 >= 9 * count
        assert sum(us < p90 for us in ordered) * 10 < 9 * count


def test_slowest_pairs_match_public_latency(sandbox: Flask) -> None:
    pairs = slowest_pairs(
        part_of(sandbox, Database),
        part_of(sandbox, SnapshotSource),
        medians_of_the_week(part_of(sandbox, Database)),
    )
    assert [pair.median_seconds for pair in pairs] == sorted(
        (pair.median_seconds for pair in pairs), reverse=True
    )
    cells = {(pair.src.id, pair.dst.id): pair for pair in pairs}
    for reported in SANDBOX_LATENCIES:
        cell = cells[reported.src_chain_id, reported.dst_chain_id]
        assert cell.median_seconds == reported.median.total_seconds() < cell.p90_seconds
    assert cells[1, 56].src.name == "Ethereum"


def test_stuck_transfers_are_listed(database: Database, snapshots: SnapshotSource) -> None:
    took(database, 1, 2, 10, 20, 30)
    put(
        database,
        {"status": 3, "since": 60},
        {"status": 3, "since": 61},
        {"status": 4, "since": 400},
        {"status": 3, "since": 3600, "src_chain_id": 2, "dst_chain_id": 1},
        {"status": 7, "since": 3601, "src_chain_id": 2, "dst_chain_id": 1},
        {"status": 1, "since": 9999, "dst_chain_id": None},
        {"status": 8, "since": 9999},
        {"status": 5, "since": 9999},
        {"status": 2, "since": 9999},
        {"status": 0, "since": 9999, "status_since": None},
    )
    page = stuck_transfers(database, snapshots)
    assert [int(stuck.line.transfer_id, 16) for stuck in page.transfers] == [6, 5, 3, 2]
    assert [(s.lasting.seconds, s.allowed.seconds, s.measured) for s in page.transfers] == [
        (9999, 3600, False),
        (3601, 3600, False),
        (400, 60, True),
        (61, 60, True),
    ]
    assert page.next_page is None and "3 times the median" in page.rule and "1 hour" in page.rule


def test_stuck_transfers_have_pages(
    database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, *({"status": 3, "since": 4000 + n // 3} for n in range(20)))
    for looked_at in (5000, 7):
        monkeypatch.setattr(rules, "MOST_LOOKED_AT", looked_at)
        found: list[int] = []
        page = stuck_transfers(database, snapshots, size=9)
        found += [int(s.line.transfer_id, 16) for s in page.transfers]
        while page.next_page:
            page = stuck_transfers(database, snapshots, page.next_page, size=9)
            found += [int(s.line.transfer_id, 16) for s in page.transfers]
        assert found == sorted(range(1, 21), key=lambda n: (-((n - 1) // 3), n))


def test_median_of_two_middles_counts_half(database: Database, snapshots: SnapshotSource) -> None:
    took(database, 1, 2, 10, 15)
    put(database, {"status": 3, "since": 37.5}, {"status": 3, "since": 37.500001})
    assert [int(s.line.transfer_id, 16) for s in stuck_transfers(database, snapshots).transfers] == [2]


def test_refunds_that_wait_for_signatures(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    wd = request(1)
    feed(
        app,
        sent(1),
        prepared(1, wd, at=-40),
        signed(1, signature(wd, KEYS[2])),
        sent(2),
        about(2, "refund.requested", at=-45),
    )
    first, second = waiting_refunds(database, snapshots)
    assert (first.line.transfer_id, second.line.transfer_id) == (transfer_id(2), transfer_id(1))
    assert (second.refund.power_signed, second.refund.quorum) == (20, 67)
    assert len(second.refund.not_signed) == 3
    assert first.refund.missing == ("no refund request is known yet: the validator network is preparing it",)
    feed(app, *(signed(1, signature(wd, key)) for key in KEYS[:2]))
    assert [waiting.line.transfer_id for waiting in waiting_refunds(database, snapshots)] == [transfer_id(2)]


def test_open_anomalies(app: Flask, database: Database) -> None:
    refunded: dict[str, Any] = {"tx_hash": "0x" + "fe" * 32, "block": 200}
    feed(
        app,
        *(
            each
            for n in (1, 2)
            for each in (sent(n), released(n, at=-10 + n), about(n, "refund.submitted", **refunded))
        ),
    )
    lines, number = anomalies_to_acknowledge(database, size=1)
    assert ([line.transfer_id for line in lines], str(number)) == ([transfer_id(2)], "2")
    with writing(database.engine) as connection:
        connection.execute(text("UPDATE anomalies SET acknowledged_at = last_at, acknowledged_by = 'me'"))
    assert anomalies_to_acknowledge(database) == ((), anomalies_to_acknowledge(database)[1])
    assert str(anomalies_to_acknowledge(database)[1]) == "0"


def test_pools_against_their_caps(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    opening = {"liquidity_sent": 0, "liquidity_relayed": 0, "liquidity_withdrawn": 0, "epoch_seconds": 3600}
    token = 10**6
    with writing(database.engine) as connection:
        for chain_id, caps in (
            (1, {"total_cap": 4000 * token, "epoch_cap": 2000 * token}),
            (2, {"total_cap": None, "epoch_cap": None}),
            (3, {"total_cap": 0, "epoch_cap": None}),
        ):
            row = {"chain_id": chain_id, "symbol": "USDT", "liquidity_added": 2000 * token} | opening | caps
            connection.execute(insert(Pool).values(**row))
        moved = {"added": 0, "sent": 0, "relayed": 3000 * token, "withdrawn": 0}
        connection.execute(insert(PoolCounter).values(chain_id=2, symbol="USDT", **moved))
    feed(app, sent(1, at=0))
    under, over, first = pool_lines(database, snapshots)
    assert (under.chain.id, under.under_zero, under.balance.units, under.total) == (2, True, 0, None)
    assert (over.chain.id, over.fullest_ppm) == (3, 1_000_000)
    assert str(first.balance) == "3000 USDT" and first.total and first.epoch
    assert (first.total.ppm, str(first.total.cap)) == (750_000, "4000 USDT")
    assert (first.epoch.ppm, str(first.epoch.used)) == (500_000, "1000 USDT")
    assert first.epoch_ends == NOW + timedelta(hours=1)


@pytest.mark.every_database
@pytest.mark.parametrize("seconds", [60, 3600, 3601, 7])
def test_dashboard_shows_epoch_volume_of_pool(
    app: Flask, database: Database, snapshots: SnapshotSource, seconds: int
) -> None:
    """By minutes where the epoch is made of them, else by the sends. Estimates count the same."""
    counters = {f"liquidity_{name}": 0 for name in ("added", "sent", "relayed", "withdrawn")}
    with writing(database.engine) as connection:
        for chain_id in (1, 2):
            row = {"chain_id": chain_id, "symbol": "USDT", "epoch_cap": 10**10, "epoch_seconds": seconds}
            connection.execute(insert(Pool).values(**row | counters))
    feed(app, sent(1, at=0), sent(2, at=-1), sent(3, at=-61), sent(4, at=-2 * 3601))
    lines = {line.chain.id: line for line in pool_lines(database, snapshots)}
    epoch = Epoch.at(NOW, seconds)
    with reading(database.engine) as connection:
        facts = estimate_facts(connection, RouteKey("USDT", ChainId(1), ChainId(2)), epoch)
    assert facts.epoch_volume >= 10**9
    assert lines[1].epoch and lines[1].epoch.used.units == facts.epoch_volume
    assert lines[2].epoch and lines[2].epoch.used.units == 0
    assert pool_lines(database, snapshots, ChainId(1)) == (lines[1],)


def test_freshness_of_chains_and_feed(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    with writing(database.engine) as connection:
        connection.execute(text("UPDATE chains SET disabled = :yes WHERE chain_id = 3"), {"yes": True})
    assert freshness(database, snapshots).feed.age == "Never"
    feed(
        app,
        event("chain.head", at=-30, chain_id=1, block=500),
        event("chain.head", at=-3600, chain_id=2, block=7),
        reporter="relayer",
    )
    got = freshness(database, snapshots)
    assert [(line.chain.id, line.highest_block, line.age, line.reading) for line in got.chains] == [
        (2, 7, "1 h ago", Reading.NOT_READ),
        (1, 500, "30 s ago", Reading.FRESH),
        (3, None, "Never", Reading.STOPPED),
    ]
    assert (got.feed.reporter, got.feed.age) == ("relayer", "just now")


def test_outcomes_of_estimates(database: Database) -> None:
    """Of the 60 minutes that end with NOW, the time of the database's clock."""
    minute = int(NOW.timestamp()) // 60
    answered = (0, "")  # the code and the reason where nothing was refused
    rows = [(0, *answered, 60), (0, 1004, "not_enough_liquidity", 30), (-59, 500, "chain_disabled", 10)]
    too_old = (-60, 1017, "total_cap", 5)
    with writing(database.engine) as connection:
        for offset, code, reason, count in [*rows, too_old]:
            values = {"minute": minute + offset, "code": code, "reason": reason, "count": count}
            connection.execute(insert(EstimateCount).values(**values))
    got = estimate_summary(database)
    assert (got.requested, got.answered) == (60 + 30 + 10, 60)
    assert len(got.minutes) == 60, "also those without an estimate, the oldest first"
    assert [(line.code, line.words, line.count, line.share) for line in got.refusals] == [
        (1004, "The destination pool holds too little", 30, "30.0 %"),
        (500, "A chain is stopped", 10, "10.0 %"),
    ]
    assert (got.minutes[0].refused, got.minutes[-1].answered, got.minutes[-1].at) == (10, 60, NOW)


def test_dashboard_of_sandbox(sandbox: Flask) -> None:
    got = Dashboard(part_of(sandbox, Database), part_of(sandbox, SnapshotSource))
    assert {count.status for count in got.statuses if count.week.number} == set(Status) - {Status(0)}
    assert got.stuck.transfers and got.refunds and got.latencies and got.pools
    assert [s.lasting for s in got.stuck.transfers] == sorted(
        (s.lasting for s in got.stuck.transfers), reverse=True
    )
    assert any(waiting.refund.power_signed for waiting in got.refunds)


def test_dashboard_of_empty_gateway(database: Database, snapshots: SnapshotSource) -> None:
    got = Dashboard(database, snapshots)
    assert not (got.stuck.transfers or got.refunds or got.anomalies or got.latencies or got.pools)


@pytest.mark.postgresql_alone
def test_nothing_scans_transfers_or_events_whole(
    app: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    feed(app, sent(1), about(1, "refund.requested"))
    with plans(database.reads, database.engine) as seen:
        board = Dashboard(database, snapshots)
        for part in PARTS:
            getattr(board, part)
    assert len(seen) > 15
    for table in ("transfers", "events", "anomalies", "estimate_counts"):
        assert not [plan for plan in seen if f"Seq Scan on {table}" in plan], table
