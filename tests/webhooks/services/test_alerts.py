"""Alerts of operators are told when they begin and when they end, each once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.audit.models import AuditRecord
from app.db.engine import writing
from app.transfers.models import Anomaly
from app.webhooks.rules.subscription import AlertKind, State
from app.webhooks.services import outbox as module
from app.webhooks.services.outbox import AUDIT_EVERY, Alerts
from app.webhooks.services.subscriptions import switch
from tests.actors import TESTER
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, about, feed, released, sent, small_network, transfer_id
from tests.gateway import Gateway
from tests.watcher.services.world import CHAIN, watch_a_chain
from tests.webhooks.services.hooks import Clock, deliveries, to_alerts


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase, clock: Clock) -> Gateway:
    return small_network(shared_database, clock=clock)


def told(gateway: Gateway) -> list[tuple[str, str, bool]]:
    bodies: list[dict[str, Any]] = [json.loads(row.body) for row in deliveries(gateway)]
    return [(body["type"], body["data"]["subject"], body["data"]["holds"]) for body in bodies]


def test_a_stuck_transfer(gateway: Gateway, clock: Clock) -> None:
    to_alerts(gateway, AlertKind.STUCK)
    alerts = Alerts()
    feed(gateway, sent(1), sent(2), released(2))
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert told(gateway) == []
    clock.move(timedelta(hours=2))
    for _ in range(3):
        alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)  # of another sender
    stuck = f"transfer {transfer_id(1)}"
    assert told(gateway) == [("alert.stuck", stuck, True)]
    feed(gateway, released(1, at=0))
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert told(gateway) == [("alert.stuck", stuck, True), ("alert.stuck", stuck, False)]


def test_an_anomaly_until_somebody_acknowledges_it(gateway: Gateway) -> None:
    to_alerts(gateway, AlertKind.ANOMALY)
    alerts = Alerts()
    feed(gateway, released(1))
    feed(gateway, about(1, "refund.completed", at=-5, tx_hash="0x" + "aa" * 32))
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    began = told(gateway)
    assert began
    assert {holds for _, _, holds in began} == {True}
    with writing(gateway.engine) as connection:
        connection.execute(update(Anomaly).values(acknowledged_at=NOW, acknowledged_by="x"))
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert sorted(told(gateway)[len(began) :]) == sorted((kind, subject, False) for kind, subject, _ in began)


def test_unlisted_alerts_are_not_reported_ended(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more hold than are reported one by one."""
    monkeypatch.setattr(module, "MOST", 1)
    to_alerts(gateway, AlertKind.ANOMALY)
    alerts = Alerts()
    for n in (1, 2):
        feed(gateway, released(n))
        feed(gateway, about(n, "refund.completed", at=-5, tx_hash="0x" + f"{n:02x}" * 32))
        alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert [holds for _, _, holds in told(gateway)] == [True]


def test_a_chain_that_nobody_reads(gateway: Gateway, clock: Clock) -> None:
    to_alerts(gateway, AlertKind.CHAIN_QUIET)
    Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert told(gateway) == []  # nothing is watched
    watch_a_chain(gateway)
    clock.move(timedelta(hours=1))
    for _ in range(2):
        Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert told(gateway) == [("alert.chain_quiet", f"chain {CHAIN}", True)]


def test_a_broken_audit_log(gateway: Gateway, clock: Clock) -> None:
    to_alerts(gateway, AlertKind.AUDIT_BROKEN)
    alerts = Alerts()
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    with writing(gateway.engine) as connection:
        connection.execute(update(AuditRecord).values(detail="another"))
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)  # it was verified just now
    assert told(gateway) == []
    clock.move(AUDIT_EVERY)
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    alerts.publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert told(gateway) == [("alert.audit_broken", "audit log", True)]


def test_only_subscribers_of_alert_get_it(gateway: Gateway, clock: Clock) -> None:
    feed(gateway, sent(1))
    clock.move(timedelta(hours=2))
    Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    stuck = to_alerts(gateway, AlertKind.STUCK, AlertKind.AUDIT_BROKEN)
    to_alerts(gateway, AlertKind.ANOMALY)
    Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert [kind for kind, _, _ in told(gateway)] == ["alert.stuck"]
    switch(*gateway.audited, stuck.public_id, State.REMOVED, actor=TESTER)
    Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    to_alerts(gateway, AlertKind.STUCK)
    Alerts().publish(gateway.database, gateway.snapshots, gateway.audit_keys)
    assert [kind for kind, _, _ in told(gateway)] == ["alert.stuck"] * 2
