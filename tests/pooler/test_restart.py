"""PgBouncer is killed under traffic and started again: what was acknowledged is there."""

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
from tests.faults.reporters import Reporter
from tests.faults.stored import assert_acknowledged_is_stored_once
from tests.faults.story import shares, story
from tests.feed.services.world import NOW, transfer_id, write_network
from tests.feed.views.kit import TOKEN
from tests.pooler.bouncer import Bouncer
from tests.serving.server import Server, serving

pytestmark = pytest.mark.system

REPORTERS, READERS = 4, 2
REFUSED = "HTTPException 503"


@pytest.mark.parametrize(
    ("events", "restarts"),
    [pytest.param(200, 2, id="few"), pytest.param(4_000, 6, id="many", marks=pytest.mark.slow)],
)
def test_restarts_under_traffic(
    bouncer: Bouncer, database: str, tmp_path: Path, events: int, restarts: int
) -> None:
    reported = story(events)
    url = bouncer.url(database)
    with application(url, database_pooler=True) as app:
        upgrade(directory="migrations")
        write_network(part_of(app, Database).engine)
    settings = {"DATABASE_URL": url, "DATABASE_POOLER": "1", "INGEST_TOKENS": TOKEN, "WEB_CONCURRENCY": "1"}
    with serving("wsgi:app", tmp_path / "log", **settings) as server:
        portions = shares(reported, REPORTERS, random.Random(1))
        reporters = [Reporter(server, TOKEN, share) for share in portions]
        answers = disturb(server, reporters, bouncer, restarts)
    refused = sum((reporter.failures for reporter in reporters), Counter())
    assert refused.keys() <= {REFUSED}, "a reporter was not answered to retry"
    assert answers["200"] and answers.keys() <= {"200", "503"}
    assert answers["503"] or refused[REFUSED], "no request failed"
    with application(url, lambda: NOW, database_pooler=True):
        assert_acknowledged_is_stored_once(reported, reporters)


def disturb(server: Server, reporters: list[Reporter], bouncer: Bouncer, restarts: int) -> Counter[str]:
    """Restart the pooler while all of them report and others read. Returns the statuses of these."""
    answers: Counter[str] = Counter()
    done = Event()
    name = transfer_id(1)

    def read() -> None:
        while not done.is_set():
            body = f'{{"transfer_id":"{name}"}}'
            connection = server.connect()
            connection.request("POST", "/v2/getTransferStatus", body, {"Content-Type": "application/json"})
            answers[str(connection.getresponse().status)] += 1
            connection.close()
            time.sleep(0.05)  # or they would take the processor from those that report

    threads = [Thread(target=reporter.run) for reporter in reporters]
    readers = [Thread(target=read) for _ in range(READERS)]
    for thread in (*threads, *readers):
        thread.start()
    for _ in range(restarts):
        time.sleep(0.4)
        bouncer.kill()
        time.sleep(0.4)
        bouncer.start()
    for thread in threads:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    return answers
