"""A gateway that is stopped reports it before it refuses connections, and answers all that are open."""

from __future__ import annotations

import json
import signal
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

from serving.reserved import STOPPING
from tests.feed.views.kit import TOKEN, bearer
from tests.serving.watched import Watched, watched

QUEUED = 200

_SHOWN = {"State", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"}


def test_queue_is_answered_before_ending(tmp_path: Path, sqlite_template: Path) -> None:
    """Load balancers see that it ends."""
    settings = {"DATABASE_URL": f"sqlite:///{sqlite_template}", "INGEST_TOKENS": TOKEN}
    with watched(tmp_path / "log", **settings) as running:
        assert _readiness(running) == (200, None)
        workers = running.workers
        assert len(workers) == 2
        slow = [_uploading(running) for _ in range(8)]  # each worker has some to finish
        for worker in workers:
            _suspended(worker)
        connections = [_requested(running) for _ in range(QUEUED)]
        running.server.process.send_signal(signal.SIGTERM)
        _all_stopping(workers)
        for worker in workers:
            worker.resume()
        for _ in range(5):
            assert _readiness(running, pause=0.2) == (503, STOPPING)
            time.sleep(0.3)
        statuses = [_status(connection) for connection in connections]
        assert statuses == [200] * QUEUED
        _finish(slow)
        assert running.server.process.wait(timeout=30) == 0


def test_reloaded_server_is_ready_until_stopped(tmp_path: Path, sqlite_template: Path) -> None:
    """Workers that a reload replaces finish what they have; the others serve, and report when they end."""
    settings = {"DATABASE_URL": f"sqlite:///{sqlite_template}", "INGEST_TOKENS": TOKEN}
    with watched(tmp_path / "log", **settings) as running:
        before = running.workers
        slow = [_uploading(running) for _ in range(8)]
        running.server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while len(running.workers) < 4:
            assert time.monotonic() < end
            time.sleep(0.02)
        for _ in range(10):
            assert _readiness(running) == (200, None)
            time.sleep(0.2)
        assert [worker for worker in before if worker.is_running()], "they finished too soon"
        _finish(slow)
        _, alive = psutil.wait_procs(before, timeout=30)
        assert alive == []
        slow = [_uploading(running) for _ in range(8)]
        time.sleep(0.5)
        running.server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert _readiness(running) == (503, STOPPING)
        _finish(slow)


def _finish(uploads: list[HTTPConnection]) -> None:
    for upload in uploads:
        upload.send(b"}")
    assert [_status(upload) for upload in uploads] == [200] * len(uploads)


def _uploading(running: Watched) -> HTTPConnection:
    """A connection whose request has begun, and waits for a last byte."""
    connection = running.server.connect()
    connection.putrequest("POST", "/ingest/v1/events")
    for name, value in bearer(TOKEN).items():
        connection.putheader(name, value)
    connection.putheader("Content-Type", "application/x-ndjson")
    connection.putheader("Content-Length", "2")
    connection.endheaders(b"{")
    return connection


def _requested(running: Watched) -> HTTPConnection:
    """A connection of the queue, with a request on it."""
    connection = running.server.connect()
    connection.request("GET", "/healthz")
    return connection


def _status(connection: HTTPConnection) -> int:
    """Of its answer; 0 where the connection was broken."""
    try:
        return connection.getresponse().status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def _readiness(running: Watched, pause: float = 0.0) -> tuple[int, str | None]:
    """Of a load balancer that is so long between its connection and its request, in seconds."""
    with closing(HTTPConnection("127.0.0.1", running.health, timeout=20)) as connection:
        connection.connect()
        time.sleep(pause)
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        error = json.loads(response.read())["err"]
        return response.status, error and error["msg"]


def _suspended(worker: psutil.Process) -> None:
    """Suspend a worker, and return once it has stopped: what comes before that is handled first."""
    worker.suspend()
    end = time.monotonic() + 20
    while worker.status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < end
        time.sleep(0.02)


def _all_stopping(workers: list[psutil.Process]) -> None:
    """Return once each has the signal to end, which it handles when it goes on."""
    end = time.monotonic() + 20
    while not all(_pending(worker.pid) & (1 << (signal.SIGTERM - 1)) for worker in workers):
        assert time.monotonic() < end, [_status_lines(each.pid) for each in (*workers, workers[0].parent())]
        time.sleep(0.02)


def _pending(pid: int) -> int:
    """The signals that wait for a process, as bits (Linux)."""
    return int(_status_lines(pid)["ShdPnd"], 16)


def _status_lines(pid: int) -> dict[str, str]:
    """What the system shows of a process: its state and its signals."""
    lines = (line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {name: text.strip() for name, text in lines if name in _SHOWN}
