"""Workers are killed while events are reported: what was answered is there, and nothing counts twice.

``make test`` does it with some hundred events, ``make soak`` with 20,000.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import make_url

from app.db.engine import reading
from app.feed.services.reprojection import replay
from tests.actors import TESTER
from tests.databases import BACKENDS
from tests.everyday import SEED, SOAK, volume
from tests.faults.kept import assert_answered_is_kept_once, gateway_on
from tests.faults.reporters import Events, Killer, Reporter, report_while_killing
from tests.faults.story import shares, story
from tests.feed.services.world import feed, projections
from tests.feed.views.kit import TOKEN
from tests.gateway import current_gateway
from tests.serving.server import serving

COUNT = volume(20_000, 240)
WRITERS = 8
WORKERS = {"postgresql": "4", "sqlite": "2"}
PAUSE = (0.1, 0.7) if SOAK else (0.05, 0.3)

Projections = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def told() -> Events:
    return story(COUNT)


@pytest.fixture(scope="module")
def undisturbed(told: Events, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Projections:
    """What one process makes of the same events when nobody disturbs it."""
    path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("undisturbed") / "gateway.db")
    with gateway_on(f"sqlite:///{path}"):
        verdict = feed(current_gateway(), *told)
        assert (verdict.accepted, verdict.refused) == (len(told), [])
        return state()


def state() -> Projections:
    """Everything that answers are made of."""
    with reading(current_gateway().engine) as connection:
        return projections(connection)


@pytest.mark.minutes("kills and starts a server many times")
@pytest.mark.parametrize("url", BACKENDS, indirect=True)
def test_killed_at_any_moment(
    url: str, told: Events, undisturbed: Projections, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(SEED)
    backend = make_url(url).get_backend_name()
    workers = WORKERS[backend]
    settings = {"DATABASE_URL": url, "INGEST_TOKENS": TOKEN, "WEB_CONCURRENCY": workers}
    with gateway_on(url) as app:
        with serving("wsgi:app", tmp_path / "log", **settings) as server:
            portions = shares(told, WRITERS, chance)
            reporters = [Reporter(server, TOKEN, share) for share in portions]
            killer = Killer(server, chance, PAUSE)
            seconds = report_while_killing(reporters, killer)
        failures = sum((reporter.failures for reporter in reporters), Counter())
        with capsys.disabled():
            lost = f"{len(killer.killed)} kills, {sum(failures.values())} answers lost"
            print(f"\n{backend}, {workers} workers: {len(told)} events in {seconds:.0f} s, {lost}")
        assert len(killer.killed) >= 3
        assert sum(failures.values()) > 0, "nobody was disturbed"
        assert "HTTPException" not in failures, "a 5xx"
        assert "Traceback" not in (tmp_path / "log").read_text(), "those who live on are not disturbed"
        assert_answered_is_kept_once(told, reporters)
        assert state() == undisturbed
        assert_log_replays_to_the_same_answers(app.test_client(), told)


def assert_log_replays_to_the_same_answers(client: FlaskClient, told: Events) -> None:
    """Folding the log anew changes no answer: all that they are made of, and a sample to the byte."""
    asked = [event["transfer_id"] for event in told if "transfer_id" in event][:: len(told) // 200]
    before, answers = state(), [answer(client, transfer_id) for transfer_id in asked]
    replay(*current_gateway().audited, actor=TESTER)
    assert state() == before
    assert [answer(client, transfer_id) for transfer_id in asked] == answers


def answer(client: FlaskClient, transfer_id: str) -> bytes:
    """The status, as it is sent."""
    response = client.post("/v2/getTransferStatus", json={"transfer_id": transfer_id})
    assert response.status_code == 200
    return response.data
