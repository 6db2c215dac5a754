"""Workers and PostgreSQL are killed while events are reported: what was answered is there, nothing twice."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import current_app
from flask.testing import FlaskClient
from flask_migrate import upgrade
from sqlalchemy import make_url

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.http.application import current
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import application, audited_of
from tests.databases import BACKENDS
from tests.faults.reporters import Events, Killer, Reporter, report_while_killing
from tests.faults.stored import assert_acknowledged_is_stored_once, gateway_on
from tests.faults.story import shares, story
from tests.feed.services.world import NOW, feed, projections
from tests.feed.views.kit import TOKEN
from tests.replicas.cluster import Node, cluster
from tests.serving.migrated import sqlite_url
from tests.serving.server import serving

WRITERS = 8
WORKERS = {"postgresql": "4", "sqlite": "2"}
PAUSE = {"postgresql": (0.1, 0.7), "sqlite": (0.05, 0.3)}
"""Seconds between two kills. A worker takes longer to start where it connects to a server."""

Projections = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module", params=few_or_many(240, 20_000))
def reported(request: pytest.FixtureRequest) -> Events:
    return story(request.param)


@pytest.fixture(scope="module")
def undisturbed(
    reported: Events, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Projections:
    """What one process makes of the same events without a fault."""
    with gateway_on(sqlite_url(tmp_path_factory.mktemp("undisturbed"), sqlite_template)) as app:
        verdict = feed(app, *reported)
        assert (verdict.accepted, verdict.refused) == (len(reported), [])
        return state()


def state() -> Projections:
    """Everything that answers are made of."""
    with reading(current(Database).engine) as connection:
        return projections(connection)


@pytest.fixture(params=BACKENDS)
def own_database(
    request: pytest.FixtureRequest, tmp_path: Path, sqlite_template: Path
) -> Iterator[tuple[str, Node | None]]:
    """The URL of a migrated database; where a server is behind it, one that may be killed."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path, sqlite_template), None
        return
    with tempfile.TemporaryDirectory(prefix="gw-") as short, cluster(Path(short), replicas=0) as servers:
        with application(servers.primary.url, lambda: NOW):
            upgrade(directory="migrations")
        yield servers.primary.url, servers.primary


def test_killed_at_any_moment(
    own_database: tuple[str, Node | None],
    reported: Events,
    undisturbed: Projections,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chance, log = random.Random(1), tmp_path / "log"
    url, server_of_database = own_database
    backend = make_url(url).get_backend_name()
    with gateway_on(url) as app:
        settings = {"DATABASE_URL": url, "INGEST_TOKENS": TOKEN, "WEB_CONCURRENCY": WORKERS[backend]}
        with serving("wsgi:app", log, **settings) as server:
            reporters = [Reporter(server, TOKEN, share) for share in shares(reported, WRITERS, chance)]
            killer = Killer(server, chance, PAUSE[backend], server_of_database)
            seconds = report_while_killing(reporters, killer)
        failures = sum((reporter.failures for reporter in reporters), Counter())
        with capsys.disabled():
            killed = ", ".join(f"{count} kills of {what}" for what, count in killer.killed.items())
            print(f"\n{backend}: {len(reported)} events in {seconds:.0f} s, {killed}, lost: {dict(failures)}")
        assert killer.killed["workers"] >= 3
        # A few kills may all come between two requests.
        assert failures or len(reported) < 1_000, "no request failed"
        answered = {failure for failure in failures if failure.startswith("HTTPException")}
        assert answered <= ({"HTTPException 503"} if server_of_database else set())
        assert server_of_database or "Traceback" not in log.read_text(), "the other workers are not disturbed"
        assert_acknowledged_is_stored_once(reported, reporters)
        assert state() == undisturbed
        assert_log_replays_to_the_same_answers(app.test_client(), reported)


def assert_log_replays_to_the_same_answers(client: FlaskClient, reported: Events) -> None:
    """Projecting the log again changes no answer: all that they are made of, and a sample to the byte."""
    ids = [event["transfer_id"] for event in reported if "transfer_id" in event][:: len(reported) // 200]
    before, answers = state(), [answer(client, transfer_id) for transfer_id in ids]
    replay(*audited_of(current_app), actor=TESTER)
    assert state() == before
    assert [answer(client, transfer_id) for transfer_id in ids] == answers


def answer(client: FlaskClient, transfer_id: str) -> bytes:
    """The status, as it is sent."""
    response = client.post("/v2/getTransferStatus", json={"transfer_id": transfer_id})
    assert response.status_code == 200
    return response.data
