"""PgBouncer is killed under traffic and started again: what was answered is there, others shall wait."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pytest
from flask_migrate import upgrade

from app.db.database import Database
from app.http.application import part_of
from tests.applications import application
from tests.everyday import volume
from tests.faults.kept import assert_answered_is_kept_once
from tests.faults.reporters import Reporter
from tests.faults.story import shares, story
from tests.feed.services.world import NOW, write_network
from tests.feed.views.kit import TOKEN
from tests.pooler.bouncer import Bouncer
from tests.serving.server import Server, serving

TOLD = story(volume(4_000, 800))
REPORTERS, ASKERS, RESTARTS = 4, 4, volume(6, 2)
REFUSED = "HTTPException 503"


@pytest.mark.slow
def test_restarts_under_traffic(bouncer: Bouncer, database: str, tmp_path: Path) -> None:
    url = bouncer.url(database)
    with application(url, database_pooler=True) as app:
        upgrade(directory="migrations")
        write_network(part_of(app, Database).engine)
    settings = {"DATABASE_URL": url, "DATABASE_POOLER": "1", "INGEST_TOKENS": TOKEN}
    with serving("wsgi:app", tmp_path / "log", **settings) as server:
        portions = shares(TOLD, REPORTERS, random.Random(1))
        reporters = [Reporter(server, TOKEN, share) for share in portions]
        answers = disturb(server, reporters, bouncer)
    refused = sum((reporter.failures for reporter in reporters), Counter())
    assert refused.keys() <= {REFUSED}, "a reporter was told something else than to come again"
    assert answers["200"] and answers.keys() <= {"200", "503"}
    assert answers["503"] or refused[REFUSED], "nobody was disturbed"
    with application(url, lambda: NOW, database_pooler=True):
        assert_answered_is_kept_once(TOLD, reporters)


def disturb(server: Server, reporters: list[Reporter], bouncer: Bouncer) -> Counter[str]:
    """Restart the pooler a few times while all of them report and others ask; what these were answered."""
    answers: Counter[str] = Counter()
    done = Event()
    name = next(event["transfer_id"] for event in TOLD if "transfer_id" in event)

    def ask() -> None:
        while not done.is_set():
            body = f'{{"transfer_id":"{name}"}}'
            connection = server.connect()
            connection.request("POST", "/v2/getTransferStatus", body, {"Content-Type": "application/json"})
            answers[str(connection.getresponse().status)] += 1
            connection.close()

    threads = [Thread(target=reporter.run) for reporter in reporters]
    askers = [Thread(target=ask) for _ in range(ASKERS)]
    for thread in (*threads, *askers):
        thread.start()
    for _ in range(RESTARTS):
        time.sleep(0.4)
        bouncer.kill()
        time.sleep(0.4)
        bouncer.start()
    for thread in threads:
        thread.join()
    done.set()
    for thread in askers:
        thread.join()
    return answers
