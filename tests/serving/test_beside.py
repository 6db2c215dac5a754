"""The process beside the workers is started again, and knows what its master has said before."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from serving.side.beside import Beside
from serving.side.health import STOPPING
from tests.applications import make_settings


def test_a_start_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Beside()
    ended: Any = SimpleNamespace(poll=lambda: 1)
    runs: Any = SimpleNamespace(poll=lambda: None)
    pauses: list[float] = []
    starts: list[object] = [OSError(11, "Resource temporarily unavailable"), runs]

    def started() -> object:
        found = starts.pop(0)
        if isinstance(found, OSError):
            raise found
        beside._ending = True
        return found

    monkeypatch.setattr(beside, "_process", ended)
    monkeypatch.setattr(beside, "_started", started)
    monkeypatch.setattr(gevent, "sleep", pauses.append)
    beside._keep(os.getpid())
    assert beside._process is runs
    assert not starts and pauses[-1] > pauses[1], "it is tried less and less often"


@pytest.fixture
def beside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sqlite_template: Path
) -> Iterator[tuple[Beside, int]]:
    """One that listens, and where it tells the health."""
    url = f"sqlite:///{sqlite_template}"
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("SECRET_KEY", "test-only secret key, 32 characters or more")
    made = Beside()
    made.listen(make_settings(url, health_port=0), SimpleNamespace(cfg=SimpleNamespace(env_orig={})))
    try:
        yield made, made._sockets["health"].getsockname()[1]
    finally:
        made.end()
        made.let_go()


@pytest.mark.full("two interpreters' starts")
def test_a_process_that_starts_while_the_gateway_stops_says_so(beside: tuple[Beside, int]) -> None:
    master, port = beside
    master.start()
    first = master._process
    assert first
    master.stopping()
    assert readiness(port) == (503, STOPPING)
    assert first.poll() is None
    first.kill()
    with gevent.Timeout(60):
        while master._process is first:
            gevent.sleep(0.1)
    assert readiness(port) == (503, STOPPING)


def readiness(port: int) -> tuple[int, str]:
    """The answer of whoever listens, once it does."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        return response.status, json.loads(response.read())["err"]["msg"]
    finally:
        connection.close()
