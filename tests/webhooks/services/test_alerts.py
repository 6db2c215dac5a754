"""Alerts of operators are sent when they begin and when they end, each once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.audit.keys import AuditKeys
from app.audit.models import AuditRecord
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.models import Anomaly
from app.webhooks.rules.subscription import AlertKind, State
from app.webhooks.services import outbox as module
from app.webhooks.services.outbox import AUDIT_EVERY, Alerts
from app.webhooks.services.subscriptions import switch
from tests.actors import TESTER
from tests.applications import Audited, change_part
from tests.builders.clock import MovableClock
from tests.feed.services.world import NOW, about, feed, released, sent, transfer_id
from tests.watcher.services.world import CHAIN, watch_a_chain
from tests.webhooks.services.hooks import deliveries, to_alerts


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def app(app: Flask, clock: MovableClock) -> Flask:
    change_part(app, Database, clock=clock)
    return app


def publish(app: Flask, alerts: Alerts) -> None:
    alerts.publish(part_of(app, Database), part_of(app, SnapshotSource), part_of(app, AuditKeys))


def sent_alerts(database: Database) -> list[tuple[str, str, bool]]:
    bodies: list[dict[str, Any]] = [json.loads(row.body) for row in deliveries(database)]
    return [(body["type"], body["data"]["subject"], body["data"]["holds"]) for body in bodies]


def test_stuck_transfer_is_reported(app: Flask, database: Database, clock: MovableClock) -> None:
    to_alerts(app, AlertKind.STUCK)
    alerts = Alerts()
    feed(app, sent(1), sent(2), released(2))
    publish(app, alerts)
    assert sent_alerts(database) == []
    clock.forward(timedelta(hours=2))
    for _ in range(3):
        publish(app, alerts)
    publish(app, Alerts())  # of another sender
    stuck = f"transfer {transfer_id(1)}"
    assert sent_alerts(database) == [("alert.stuck", stuck, True)]
    feed(app, released(1, at=0))
    publish(app, alerts)
    assert sent_alerts(database) == [("alert.stuck", stuck, True), ("alert.stuck", stuck, False)]


def test_anomaly_holds_until_acknowledged(app: Flask, database: Database) -> None:
    to_alerts(app, AlertKind.ANOMALY)
    alerts = Alerts()
    feed(app, released(1))
    feed(app, about(1, "refund.completed", at=-5, tx_hash="0x" + "aa" * 32))
    publish(app, alerts)
    began = sent_alerts(database)
    assert began
    assert {holds for _, _, holds in began} == {True}
    with writing(database.engine) as connection:
        connection.execute(update(Anomaly).values(acknowledged_at=NOW, acknowledged_by="x"))
    publish(app, alerts)
    assert sorted(sent_alerts(database)[len(began) :]) == sorted(
        (kind, subject, False) for kind, subject, _ in began
    )


def test_unlisted_alerts_are_not_reported_ended(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where more hold than are reported one by one."""
    monkeypatch.setattr(module, "MOST", 1)
    to_alerts(app, AlertKind.ANOMALY)
    alerts = Alerts()
    for n in (1, 2):
        feed(app, released(n))
        feed(app, about(n, "refund.completed", at=-5, tx_hash="0x" + f"{n:02x}" * 32))
        publish(app, alerts)
    assert [holds for _, _, holds in sent_alerts(database)] == [True]


def test_chain_that_nobody_reads_is_reported(app: Flask, database: Database, clock: MovableClock) -> None:
    to_alerts(app, AlertKind.CHAIN_QUIET)
    publish(app, Alerts())
    assert sent_alerts(database) == []  # nothing is watched
    watch_a_chain(app)
    clock.forward(timedelta(hours=1))
    for _ in range(2):
        publish(app, Alerts())
    assert sent_alerts(database) == [("alert.chain_quiet", f"chain {CHAIN}", True)]


def test_broken_audit_log_is_reported(app: Flask, database: Database, clock: MovableClock) -> None:
    to_alerts(app, AlertKind.AUDIT_BROKEN)
    alerts = Alerts()
    publish(app, alerts)
    with writing(database.engine) as connection:
        connection.execute(update(AuditRecord).values(detail="another"))
    publish(app, alerts)  # it was verified just now
    assert sent_alerts(database) == []
    clock.forward(AUDIT_EVERY)
    publish(app, alerts)
    publish(app, alerts)
    assert sent_alerts(database) == [("alert.audit_broken", "audit log", True)]


def test_alert_reaches_only_subscribers(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    feed(app, sent(1))
    clock.forward(timedelta(hours=2))
    publish(app, Alerts())
    stuck = to_alerts(app, AlertKind.STUCK, AlertKind.AUDIT_BROKEN)
    to_alerts(app, AlertKind.ANOMALY)
    publish(app, Alerts())
    assert [kind for kind, _, _ in sent_alerts(database)] == ["alert.stuck"]
    switch(*audited, stuck.public_id, State.REMOVED, actor=TESTER)
    publish(app, Alerts())
    to_alerts(app, AlertKind.STUCK)
    publish(app, Alerts())
    assert [kind for kind, _, _ in sent_alerts(database)] == ["alert.stuck"] * 2
