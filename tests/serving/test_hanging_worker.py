"""A worker that hangs is replaced: gunicorn's ``timeout`` holds for the worker of this repository."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import psutil

from tests.serving.watched import Watched, watched

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 2


def test_hanging_worker_is_replaced(tmp_path: Path, sqlite_template: Path) -> None:
    settings = {
        "DATABASE_URL": f"sqlite:///{sqlite_template}",
        "GUNICORN_CMD_ARGS": f"--no-control-socket --timeout {SECONDS}",
    }
    with watched(tmp_path / "log", **settings) as running:
        time.sleep(2 * SECONDS)
        hung, other = running.workers
        hung.send_signal(signal.SIGSTOP)
        try:
            left = _without(running, hung)
            assert "WORKER TIMEOUT" in (tmp_path / "log").read_text()
        finally:
            if hung.is_running():
                hung.kill()
        assert other in left, "an idle worker does not hang"
        assert running.request(running.health, "/healthz")[0] == 200


def _without(running: Watched, hung: psutil.Process) -> list[psutil.Process]:
    """The workers, once the one that hung was replaced."""
    until = time.monotonic() + 30
    while True:
        workers = running.workers
        if hung not in workers and len(workers) == 2:
            return workers
        assert time.monotonic() < until, workers
        time.sleep(0.1)


def test_timeout_is_documented() -> None:
    (seconds,) = re.findall(r"^timeout = (\d+)$", (ROOT / "gunicorn.conf.py").read_text(), re.M)
    faults = (ROOT / "docs/faults.md").read_text()
    assert f"| gunicorn restarts it after {seconds} s |" in faults
