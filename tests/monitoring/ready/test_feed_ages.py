"""Chains whose feed is too old: shown by /readyz and the log, or a reason to be unready."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event

from app.db.database import Database
from app.http.application import part_of
from app.network.document import import_network
from tests.actors import TESTER
from tests.api.shapes import READY, assert_refused
from tests.applications import OpenApp, editing_of
from tests.builders.clock import MovableClock
from tests.console.visitor import NOW
from tests.feed.services.world import network, write_network
from tests.feed.views.kit import post

LIMITS = ((0, 600), (2, 60), (3, 0))
"""Chain 2 must be newer than chain 1, and chain 3 may be silent."""


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


def open_with(open_app: OpenApp, clock: MovableClock, stale: str) -> Flask:
    app = open_app(clock=clock, feed_max_age_seconds=LIMITS, feed_stale=stale)
    write_network(part_of(app, Database).engine)
    return app


def report_heads(client: FlaskClient, clock: MovableClock, *chains: int) -> None:
    """The chains are read up to now."""
    at = clock().isoformat()
    heads = [
        {"id": f"{n}:{at}", "type": "chain.head", "at": at, "chain_id": n, "block": clock().minute + 1}
        for n in chains
    ]
    assert post(client, heads).get_json()["refused"] == []


def stale(client: FlaskClient) -> dict[int, Any]:
    """The chains that a gateway which only warns shows as stale."""
    answer = client.get("/readyz")
    assert answer.status_code == 200
    return {feed["chain_id"]: feed for feed in answer.get_json()["stale_feeds"]}


def test_stale_feeds_are_shown(open_app: OpenApp, clock: MovableClock) -> None:
    client = open_with(open_app, clock, "warn").test_client()
    assert stale(client) == {
        1: {"chain_id": 1, "newest_at": None, "max_age_seconds": 600},
        2: {"chain_id": 2, "newest_at": None, "max_age_seconds": 60},
    }
    report_heads(client, clock, 1, 2)
    reported_at = clock()
    assert stale(client) == {}
    clock.forward(seconds=60)
    assert stale(client) == {}
    clock.forward(seconds=1)
    assert stale(client) == {2: {"chain_id": 2, "newest_at": reported_at.isoformat(), "max_age_seconds": 60}}
    clock.forward(seconds=540)
    assert stale(client).keys() == {1, 2}
    report_heads(client, clock, 1)
    assert stale(client).keys() == {2}


def test_stopped_chain_may_be_silent(open_app: OpenApp, clock: MovableClock) -> None:
    app = open_with(open_app, clock, "warn")
    client = app.test_client()
    report_heads(client, clock, 1)
    assert stale(client).keys() == {2}
    stopped = network()
    stopped["chains"][1]["disabled"] = True
    import_network(*editing_of(app), json.dumps(stopped).encode(), actor=TESTER)
    assert stale(client) == {}


def test_stale_feed_fails_where_configured(open_app: OpenApp, clock: MovableClock) -> None:
    client = open_with(open_app, clock, "fail").test_client()
    message = assert_refused(client.get("/readyz"), 503, "unavailable", READY)
    assert message == "feed: no event of chain 1 was reported yet (1 more like it)"
    report_heads(client, clock, 1, 2)
    assert client.get("/readyz").status_code == 200
    clock.forward(minutes=2)
    message = assert_refused(client.get("/readyz"), 503, "unavailable", READY)
    assert message == "feed: the newest event of chain 2 is 2 min old, FEED_MAX_AGE_SECONDS allows 60 s"
    assert client.get("/healthz").status_code == 200


def test_change_is_logged_once(
    open_app: OpenApp, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    client = open_with(open_app, clock, "warn").test_client()
    report_heads(client, clock, 1, 2)
    caplog.set_level(logging.INFO, "app.monitoring.readiness")
    clock.forward(seconds=90)
    for _ in range(3):
        assert stale(client).keys() == {2}
    report_heads(client, clock, 2)
    for _ in range(3):
        assert stale(client) == {}
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "feed: the newest event of chain 2 is 1 min 30 s old, FEED_MAX_AGE_SECONDS allows 60 s"),
        ("INFO", "feed: chain 2 has new events again"),
    ]


def test_feed_ages_are_not_read_without_limits(open_app: OpenApp, clock: MovableClock) -> None:
    app = open_app(clock=clock)
    write_network(part_of(app, Database).engine)
    statements: list[str] = []
    event.listen(
        part_of(app, Database).reads,
        "before_cursor_execute",
        lambda _c, _u, text, *_: statements.append(text),
    )
    assert stale(app.test_client()) == {}
    assert statements
    assert not [text for text in statements if "chain_progress" in text]
