"""Metrics of the database report what is in it; a part that cannot be read stops no other."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from sqlalchemy import insert, select, update

from app.credentials.models import IngestToken
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolVolume
from app.http.application import part_of
from app.monitoring import metrics
from app.monitoring.metrics import Part, StateMetrics, parts_of_state
from app.network.document import export_network, import_network
from app.network.snapshot import SnapshotSource
from app.transfers.models import Anomaly, ContradictedReport, Event, StuckAcknowledgement, Transfer
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.services.notes import NEW_FOR
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import ChainId, PoolKey
from app.values.times import minute_of
from app.watcher.models import ChainWatch, WatchDoubt
from app.webhooks.models import Delivery, Subscription
from app.webhooks.rules.subscription import Audience, DeliveryState, State
from tests.actors import TESTER
from tests.applications import Editing, change_part
from tests.databases import SharedDatabase
from tests.metrics.counted import Series, series, total, value
from tests.sandboxes import load_into


def exposed(metrics: StateMetrics) -> Series:
    class _Collector:
        def collect(self) -> list[Metric]:
            return metrics.collect()

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector())
    return series(generate_latest(registry))


def state_of(app: Flask) -> Sequence[Part]:
    return parts_of_state(
        part_of(app, Database), part_of(app, SnapshotSource), part_of(app, EnvironmentTokens)
    )


def read(app: Flask, monkeypatch: pytest.MonkeyPatch, now: datetime | None = None) -> Series:
    """The metrics, at that time if one is given."""
    if now is not None:
        change_part(app, Database, clock=lambda: now)
    monkeypatch.setattr(metrics, "TIMEOUT_SECONDS", 60)
    return exposed(StateMetrics(state_of(app)))


AT = datetime(2026, 11, 22, 12, 0, 3, tzinfo=UTC)
"""How many transfers of the sandbox have ended differs by one or two from moment to moment."""


@pytest.fixture
def sandbox(app: Flask, shared_database: SharedDatabase) -> Flask:
    change_part(app, Database, clock=lambda: AT)
    shared_database.fill("tests.metrics.state", lambda: load_into(app))
    return app


def test_state_of_the_sandbox_is_exposed(
    sandbox: Flask, database: Database, environment_tokens: EnvironmentTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(database.engine) as connection:
        now = database.clock()
        row = {"detail": "", "event_ids": [], "first_at": now, "last_at": now}
        kinds = [AnomalyKind.RELEASED_TWICE] * 2 + [AnomalyKind.POOL_UNDER_ZERO]
        rows = [row | {"kind": kind, "subject": f"made-up:{n}"} for n, kind in enumerate(kinds)]
        connection.execute(insert(Anomaly), rows)
        connection.execute(update(Anomaly).where(Anomaly.subject == "made-up:0").values(acknowledged_at=now))
    found = read(sandbox, monkeypatch)
    assert value(found, "gateway_transfers", status="5") == 453
    assert value(found, "gateway_transfers", status="8") == 3
    assert value(found, "gateway_transfers_stuck") == 5
    assert value(found, "gateway_anomalies", kind="released_twice") == 1
    assert value(found, "gateway_anomalies", kind="pool_under_zero") == 1
    assert value(found, "gateway_anomalies", kind="different_sends") == 0
    assert value(found, "gateway_config_version") == 1
    assert value(found, "gateway_pool_liquidity", chain_id="10", token="USDT") == 1_000_000
    assert value(found, "gateway_pool_liquidity", chain_id="10", token="WETH") == 300
    assert value(found, "gateway_pool_cap", chain_id="10", token="WETH") == 310
    assert value(found, "gateway_pool_cap", chain_id="10", token="USDC") is None
    assert 0 <= (value(found, "gateway_feed_age_seconds", reporter="", chain_id="1") or -1) < 600
    assert value(
        found, "gateway_feed_age_seconds", reporter=_environment_reporter(environment_tokens), chain_id=""
    ) == (math.inf)
    assert value(found, "gateway_webhooks_due") == 0
    assert value(found, "gateway_webhooks_oldest_due_seconds") == 0
    parts = {part.name for part in state_of(sandbox)}
    assert {dict(labels)["part"] for name, labels in found if name == "gateway_state_age_seconds"} == parts


def test_limits_fees_and_refunds_are_reported(
    sandbox: Flask, database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = snapshots.current().terms.pools
    cap = pools[PoolKey(ChainId(56), "USDT")].epoch_cap or 0
    with writing(database.engine) as connection:
        row = {"chain_id": 56, "symbol": "USDT", "minute": minute_of(AT), "amount": cap // 2}
        connection.execute(insert(PoolVolume), [row])
        sevens = (
            select(Transfer)
            .where(Transfer.status == Status.TRANSFER_REQUESTING_REFUND)
            .order_by(Transfer.status_since)
        )
        first, *others = connection.execute(sevens).all()
        of_first = {"transfer_id": first.transfer_id, "status": 7, "status_since": first.status_since}
        connection.execute(insert(StuckAcknowledgement), [of_first | {"at": AT, "by": "tester", "note": ""}])
    oldest = (AT - others[0].status_since).total_seconds() if others else 0
    found = read(sandbox, monkeypatch)
    assert value(found, "gateway_pool_epoch_ratio", chain_id="56", token="USDT") == 0.5
    assert value(found, "gateway_pool_epoch_ratio", chain_id="10", token="USDT") is None
    assert value(found, "gateway_base_fee_age_ratio", chain_id="137") == 2
    assert value(found, "gateway_base_fee_age_ratio", chain_id="10") is None, "any age is allowed"
    assert value(found, "gateway_refunds_oldest_seconds", status="7") == oldest
    assert value(found, "gateway_refunds_oldest_seconds", status="8") == 53_880
    route = {"src_chain_id": "1", "dst_chain_id": "56", "token": "USDT"}
    outcomes = {"completed": 2, "refund": 1, "failed": 0}
    for outcome, number in outcomes.items():
        assert value(found, "gateway_route_outcomes", **route, outcome=outcome) == number


def test_reporter_age_counts_from_accepted_event(
    sandbox: Flask, database: Database, environment_tokens: EnvironmentTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = _environment_reporter(environment_tokens)
    with writing(database.engine) as connection:
        now = database.clock()
        newest = connection.scalar(
            Event.__table__.select().with_only_columns(Event.seq).order_by(Event.seq.desc())
        )
        connection.execute(
            update(Event)
            .where(Event.seq == newest)
            .values(reporter=name, received_at=now - timedelta(hours=1))
        )
    found = read(sandbox, monkeypatch, now)
    assert value(found, "gateway_feed_age_seconds", reporter=name, chain_id="") == 3600


def test_reporter_has_an_age_while_its_token_counts(
    sandbox: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = database.clock()
    token = {"digest": bytes(32), "created_at": now}
    times = {
        "valid": {},
        "expired": {"expires_at": now - timedelta(days=6)},
        "long expired": {"expires_at": now - timedelta(days=7)},
        "revoked": {"revoked_at": now - timedelta(days=1)},
    }
    with writing(database.engine) as connection:
        for number, (name, ends) in enumerate(times.items()):
            row = token | ends | {"name": name, "key_id": f"{number:016x}"}
            connection.execute(insert(IngestToken).values(row))
    found = read(sandbox, monkeypatch, now)
    ages = {name: value(found, "gateway_feed_age_seconds", reporter=name, chain_id="") for name in times}
    assert ages == {"valid": math.inf, "expired": math.inf, "long expired": None, "revoked": None}


def test_old_transfers_count_as_stuck(
    sandbox: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    much_later = database.clock() + NEW_FOR * 30
    found = read(sandbox, monkeypatch, much_later)
    unfinished = sum(
        value(found, "gateway_transfers", status=status) or 0 for status in ("1", "3", "4", "7", "9", "11")
    )
    assert value(found, "gateway_transfers_stuck") == unfinished > 5


def test_failing_part_breaks_no_other(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = threading.Event()

    def fails() -> Sequence[Metric]:
        raise OSError("away")

    def hangs() -> Sequence[Metric]:
        hang.wait(30)
        return ()

    def works() -> Sequence[Metric]:
        return [GaugeMetricFamily("gateway_works", "x", value=7)]

    monkeypatch.setattr(metrics, "TIMEOUT_SECONDS", 0.2)
    parts = (Part("away", 0, fails), Part("hung", 0, hangs), Part("fine", 0, works))
    state = StateMetrics(parts)
    started = time.monotonic()
    found = exposed(state)
    assert time.monotonic() - started < 10
    assert value(found, "gateway_works") == 7
    assert total(found, "gateway_state_age_seconds", part="fine") >= 0
    assert value(found, "gateway_state_age_seconds", part="away") is None
    assert value(found, "gateway_state_age_seconds", part="hung") is None
    hang.set()


def _environment_reporter(environment_tokens: EnvironmentTokens) -> str:
    (token,) = environment_tokens
    return token.name


def test_watched_chains_report_their_lag(
    sandbox: Flask, database: Database, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(export_network(database))
    for chain in document["chains"]:
        if chain["id"] in (1, 10):
            chain |= {"watch_from_block": 10, "rpc": ["RPC_URL_TEST"]}
    import_network(*editing, json.dumps(document).encode(), actor=TESTER)
    now = database.clock()
    row = {"chain_id": 1, "epoch": 1, "head": 120, "live_to": 100, "head_at": now - timedelta(seconds=90)}
    row |= {"owner": "host 1", "until": now + timedelta(seconds=60), "head_moved_at": now, "read_at": now}
    with writing(database.engine) as connection:
        connection.execute(insert(ChainWatch), [row])
    found = read(sandbox, monkeypatch, now)
    assert value(found, "gateway_chain_lag_blocks", chain_id="1") == 20
    assert value(found, "gateway_chain_lag_seconds", chain_id="1") == 90
    assert value(found, "gateway_chain_lag_blocks", chain_id="10") is None
    assert value(found, "gateway_chain_lag_seconds", chain_id="10") == math.inf
    assert value(found, "gateway_chain_lag_seconds", chain_id="56") is None
    later = read(sandbox, monkeypatch, now + timedelta(minutes=5))
    assert value(later, "gateway_chain_lag_seconds", chain_id="1") == 390
    assert value(later, "gateway_chain_lag_blocks", chain_id="1") is None, "the watcher has died"


def test_disputed_blocks_are_counted(
    sandbox: Flask, database: Database, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(export_network(database))
    for chain in document["chains"]:
        if chain["id"] in (1, 10):
            chain |= {"watch_from_block": 10, "rpc": ["RPC_URL_TEST"]}
    import_network(*editing, json.dumps(document).encode(), actor=TESTER)
    in_doubt = [{"block": block, "disputed": block > 20} for block in (20, 21, 22)]
    with writing(database.engine) as connection:
        connection.execute(insert(ChainWatch), [{"chain_id": 1, "epoch": 1, "unmatched": 3}])
        connection.execute(insert(WatchDoubt), [{"chain_id": 1, "tries": 0} | each for each in in_doubt])
    found = read(sandbox, monkeypatch)
    assert value(found, "gateway_watch_disputed_blocks", chain_id="1") == 2
    assert value(found, "gateway_watch_disputed_blocks", chain_id="10") == 0
    assert value(found, "gateway_watch_disputed_blocks", chain_id="56") is None


def test_contradicted_reports_are_counted(
    sandbox: Flask, database: Database, environment_tokens: EnvironmentTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"subject": "chain:1", "chain_id": 1, "block": 7, "at": database.clock(), "tries": 0}
    with writing(database.engine) as connection:
        for event_id, reporter, outranked in (("a", "one", True), ("b", "one", False), ("c", "two", True)):
            more = {"event_id": event_id, "reporter": reporter, "outranked": outranked}
            connection.execute(insert(ContradictedReport).values(row | more))
    found = read(sandbox, monkeypatch)
    assert value(found, "gateway_contradicted_reports", reporter="one") == 2
    assert value(found, "gateway_contradicted_reports", reporter="two") == 1
    assert (
        value(found, "gateway_contradicted_reports", reporter=_environment_reporter(environment_tokens)) == 0
    )


def test_due_deliveries_are_reported(
    sandbox: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = database.clock()
    active, paused = (_subscription(database, metrics, now) for metrics in (State.ACTIVE, State.PAUSED))
    delivery = {
        "message_id": "m", "type": "t", "subject": "s", "body": "{}", "created_at": now,
        "state": DeliveryState.WAITING, "claims": 0, "attempts": 0,
    }  # fmt: skip
    due = [(active, 300), (active, 20), (active, -60), (paused, 900)]
    rows = [
        delivery | {"subscription_id": of, "next_at": now - timedelta(seconds=seconds)} for of, seconds in due
    ]
    with writing(database.engine) as connection:
        connection.execute(insert(Delivery), rows)
    found = read(sandbox, monkeypatch, now)
    assert value(found, "gateway_webhooks_due") == 2
    assert value(found, "gateway_webhooks_oldest_due_seconds") == 300


def _subscription(database: Database, state: State, now: datetime) -> int:
    values = {
        "public_id": state.value, "name": "n", "url": "https://x.example", "place": "x.example:443",
        "audience": Audience.EVERYTHING, "state": state, "state_at": now, "salt": bytes(32), "key_id": "k",
        "created_at": now, "created_by": "tester",
    }  # fmt: skip
    with writing(database.engine) as connection:
        key = connection.execute(insert(Subscription).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])
