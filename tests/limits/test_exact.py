"""A real gunicorn with several workers and a real Redis: between them exactly the limit passes."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest

from app import create_app
from app.credentials.services.issuing import issue, new_key
from app.http.limits import REST_SECONDS
from tests.actors import TESTER
from tests.applications import close_connections, editing_of, make_settings
from tests.limits.redis_server import RedisServer
from tests.serving.server import Server, serving

CONFIGS = "/v2/getTransferConfigs"
WORKERS, LIMIT, ASKED, AT_ONCE = 4, 60, 240, 16

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Answer:
    """What one request was told."""

    status: int
    limit: int
    remaining: int
    reset: int
    seconds: float


@pytest.fixture
def url(sqlite_template: Path, tmp_path: Path) -> str:
    shutil.copy(sqlite_template, tmp_path / "gateway.db")
    return f"sqlite:///{tmp_path / 'gateway.db'}"


@pytest.fixture
def server(url: str, tmp_path: Path, own_redis: RedisServer) -> Iterator[Server]:
    settings = {
        "WEB_CONCURRENCY": str(WORKERS),
        "RATE_LIMIT": f"{LIMIT}/hour",
        "RATE_LIMIT_STORAGE_URL": own_redis.url,
    }
    with serving("wsgi:app", tmp_path / "log", DATABASE_URL=url, **settings) as running:
        yield running


def ask(server: Server, key: str = "") -> Answer:
    """On a connection of its own, so that any worker may take it."""
    began = time.monotonic()
    response = server.ask("GET", CONFIGS, {"Authorization": f"Bearer {key}"} if key else None)
    response.read()
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    limit, remaining, reset = (int(response.headers[name]) for name in names)
    return Answer(response.status, limit, remaining, reset, time.monotonic() - began)


def ask_all(server: Server, key: str = "", asked: int = ASKED) -> list[Answer]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(lambda _: ask(server, key), range(asked)))


def exactly(answers: list[Answer], limit: int) -> bool:
    """Whether exactly the limit passed, and each of those was told another number."""
    passed = [each for each in answers if each.status != 429]
    assert all(each.limit == limit and 3500 < each.reset <= 3600 for each in answers)
    assert all(each.remaining == 0 for each in answers if each.status == 429)
    return sorted(each.remaining for each in passed) == list(range(limit))


def test_exactly_the_limit_passes(server: Server, url: str) -> None:
    app = create_app(make_settings(url))
    with app.app_context():
        key = issue(*editing_of(app), new_key("wallet", ("read",), "45/hour"), actor=TESTER).text
        close_connections()
    assert exactly(ask_all(server), LIMIT)
    time.sleep(1.1)  # a worker may have read the keys just before
    assert exactly(ask_all(server, key), 45)


def test_a_redis_that_hangs_holds_up_nobody(server: Server, own_redis: RedisServer, tmp_path: Path) -> None:
    ask_all(server, asked=20)
    own_redis.signal(SIGSTOP)
    frozen = ask_all(server)
    assert json.load(server.ask("GET", "/healthz")) == {"err": None}
    assert max(each.seconds for each in frozen) < 5
    slow = sum(each.seconds > 0.45 for each in frozen)
    assert slow <= 2 * WORKERS * AT_ONCE, (
        "those that were under way, and one of each process every few seconds"
    )
    passed = Counter(each.status for each in frozen)
    # Each process counts for itself: at most the limit in each, and not the limit of all.
    assert LIMIT - 20 < passed[200] <= WORKERS * LIMIT
    own_redis.signal(SIGCONT)
    time.sleep(REST_SECONDS + 0.5)
    ask_all(server, asked=40)  # wakes each process
    own_redis.do("FLUSHALL")
    assert exactly(ask_all(server), LIMIT)
    log = (tmp_path / "log").read_text()
    assert 1 <= log.count("this process counts for itself") <= WORKERS
    assert log.count("the store of limits is back") == log.count("this process counts for itself")
