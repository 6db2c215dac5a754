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
WORKERS, LIMIT, REQUESTS, AT_ONCE = 3, 60, 180, 16

pytestmark = pytest.mark.system


@dataclass(frozen=True)
class Answer:
    """The status, the headers of the limit, and the time of one request."""

    status: int
    limit: int
    remaining: int
    reset: int
    seconds: float


@pytest.fixture(scope="module")
def folder(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the server: its database and its log."""
    folder = tmp_path_factory.mktemp("limits")
    shutil.copy(sqlite_template, folder / "gateway.db")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path, shared_redis: RedisServer) -> Iterator[Server]:
    settings = {
        "DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}",
        "WEB_CONCURRENCY": str(WORKERS),
        "RATE_LIMIT": f"{LIMIT}/hour",
        "RATE_LIMIT_STORAGE_URL": shared_redis.url,
    }
    with serving("wsgi:app", folder / "log", **settings) as running:
        yield running


def get(server: Server, key: str = "") -> Answer:
    """One request on a connection of its own, so that any worker may take it."""
    began = time.monotonic()
    response = server.request("GET", CONFIGS, {"Authorization": f"Bearer {key}"} if key else None)
    response.read()
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    limit, remaining, reset = (int(response.headers[name]) for name in names)
    return Answer(response.status, limit, remaining, reset, time.monotonic() - began)


def get_many(server: Server, key: str = "", times: int = REQUESTS) -> list[Answer]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(lambda _: get(server, key), range(times)))


def exactly(answers: list[Answer], limit: int) -> bool:
    """Whether exactly the limit passed, and each of those has another number."""
    passed = [each for each in answers if each.status != 429]
    assert all(each.limit == limit and 3500 < each.reset <= 3600 for each in answers)
    assert all(each.remaining == 0 for each in answers if each.status == 429)
    return sorted(each.remaining for each in passed) == list(range(limit))


def test_workers_pass_exactly_the_limit(server: Server, folder: Path, redis_server: RedisServer) -> None:
    app = create_app(make_settings(f"sqlite:///{folder / 'gateway.db'}"))
    with app.app_context():
        key = issue(*editing_of(app), new_key("wallet", ("read",), "45/hour"), actor=TESTER).text
        close_connections()
    assert exactly(get_many(server), LIMIT)
    time.sleep(1.1)  # a worker may have read the keys just before
    assert exactly(get_many(server, key), 45)


def test_frozen_redis_delays_no_request(server: Server, folder: Path, redis_server: RedisServer) -> None:
    get_many(server, times=20)
    redis_server.signal(SIGSTOP)
    frozen = get_many(server)
    assert json.load(server.request("GET", "/healthz")) == {"err": None}
    assert max(each.seconds for each in frozen) < 5
    slow = sum(each.seconds > 0.45 for each in frozen)
    assert slow <= 2 * WORKERS * AT_ONCE, (
        "those that were under way, and one of each process every few seconds"
    )
    passed = Counter(each.status for each in frozen)
    # Each process counts for itself: at most the limit in each, and not the limit of all.
    assert LIMIT - 20 < passed[200] <= WORKERS * LIMIT
    redis_server.signal(SIGCONT)
    time.sleep(REST_SECONDS + 0.5)
    get_many(server, times=40)  # wakes each process
    redis_server.do("FLUSHALL")
    assert exactly(get_many(server), LIMIT)
    log = (folder / "log").read_text()
    assert 1 <= log.count("this process counts for itself") <= WORKERS
    assert log.count("the store of limits is back") == log.count("this process counts for itself")
