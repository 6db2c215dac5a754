"""Workers whose places are all taken: further requests go to another worker, or wait for a place."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from tests.serving.server import Server, serving

PLACES = 32


@contextmanager
def few_places(folder: Path, template: Path, workers: int) -> Iterator[Server]:
    with serving(
        "wsgi:app",
        folder / "log",
        DATABASE_URL=f"sqlite:///{template}",
        WEB_CONCURRENCY=str(workers),
        GUNICORN_CMD_ARGS=f"--no-control-socket --worker-connections {PLACES}",
    ) as running:
        running.workers(workers)
        yield running


def request_health(server: Server, stack: ExitStack) -> HTTPConnection:
    connection = server.connect(seconds=8)
    stack.callback(connection.close)
    connection.request("GET", "/healthz")
    return connection


def is_answered(connection: HTTPConnection) -> bool:
    """Whether it is answered, and the connection stays open; each answer is awaited for some seconds."""
    try:
        response = connection.getresponse()
        return response.status == 200 and bool(response.read())
    except (TimeoutError, ConnectionError):
        return False


def test_full_worker_passes_connections_on(tmp_path: Path, sqlite_template: Path) -> None:
    """The full one accepted them, and held them until it had a place itself."""
    with few_places(tmp_path, sqlite_template, 2) as server, ExitStack() as stack:
        _, away = server.workers(2)
        away.suspend()
        stack.callback(away.resume)
        assert all(is_answered(request_health(server, stack)) for _ in range(PLACES))
        late = [request_health(server, stack) for _ in range(3)]
        time.sleep(0.3)  # in which the full worker would take the first
        away.resume()
        assert [is_answered(each) for each in late] == [True] * 3


def test_full_server_answers_queue_before_it_ends(tmp_path: Path, sqlite_template: Path) -> None:
    """Before it ends."""
    with few_places(tmp_path, sqlite_template, 1) as server, ExitStack() as stack:
        assert all(is_answered(request_health(server, stack)) for _ in range(PLACES))
        late = [request_health(server, stack) for _ in range(PLACES + 3)]
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert [is_answered(each) for each in late] == [True] * len(late)
        assert server.process.wait(timeout=30) == 0
