"""Watcher and sender with a stand-in of systemd's socket: beats come until a part hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import AF_UNIX, SOCK_DGRAM, socket
from typing import Any

import pytest

from app import create_app
from app.db.database import Database
from app.db.engine import writing
from app.db.models import db
from app.http.application import current
from app.network.document import import_within, read_document
from app.observability import heartbeat
from tests.applications import make_settings
from tests.deploy.files import ROOT, pods, units
from tests.deploy.hanging import PARTS
from tests.serving.migrated import sqlite_url
from tests.watcher.fake_chain import FakeChain
from tests.watcher.fake_node import FakeNode, served
from tests.watcher.processes import document

SECONDS = 40
"""For what should come soon, on a machine that does other things."""
QUIET = 2.0
"""Without a beat for so long, there would have been twenty."""


@contextmanager
def listening(address: str) -> Iterator[socket]:
    """A socket as systemd's."""
    with socket(AF_UNIX, SOCK_DGRAM) as receiver:
        receiver.bind(address)
        yield receiver


def beats(receiver: socket, seconds: float) -> bool:
    """Whether a beat comes within so many seconds."""
    receiver.settimeout(seconds)
    try:
        return receiver.recv(100) == b"READY=1\nWATCHDOG=1"
    except TimeoutError:
        return False


def ends(receiver: socket) -> bool:
    """Whether the beats end."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if not beats(receiver, QUIET):
            return True
    return False


@pytest.fixture
def url(tmp_path: Path, sqlite_template: Path) -> str:
    """A database with a chain that is watched."""
    url = sqlite_url(tmp_path, sqlite_template)
    with create_app(make_settings(url)).app_context():
        database = current(Database)
        with writing(database.engine) as connection:
            import_within(connection, read_document(document()), database.clock())
        for engine in db.engines.values():
            engine.dispose()
    return url


@contextmanager
def started(command: str, folder: Path, url: str, notify: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process, of which a part hangs while a file of its name is in the folder. It is killed at the end."""
    with ExitStack() as stack:
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
            "DATABASE_URL": url,
            "AUDIT_KEY": "test-only audit key, 32 characters or more",
            "RPC_URL_A": stack.enter_context(served(FakeNode(FakeChain()))),
            "NOTIFY_SOCKET": notify,
            "PYTHONFAULTHANDLER": "1",
        }
        log = stack.enter_context((folder / "log").open("wb"))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.deploy.hanging", command, str(folder)],
            cwd=ROOT, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("command", PARTS)
def test_beats_end_while_a_part_hangs(command: str, url: str, tmp_path: Path) -> None:
    name = f"gateway-beats-{os.getpid()}"
    with listening(f"\0{name}") as systemd, started(command, tmp_path, url, f"@{name}") as process:
        assert beats(systemd, SECONDS), (tmp_path / "log").read_text()
        assert not ends_soon(systemd)
        for part in PARTS[command]:
            (tmp_path / part).touch()
            assert ends(systemd), part
            (tmp_path / part).unlink()
            assert beats(systemd, SECONDS), f"{part} works again"
        (tmp_path / part).touch()
        assert ends(systemd)
        process.send_signal(signal.SIGABRT)  # as systemd does
        assert process.wait(SECONDS) == -signal.SIGABRT
    assert "in hung" in (tmp_path / "log").read_text(), "where it hangs"


def ends_soon(receiver: socket) -> bool:
    """Whether the beats end within some seconds."""
    return not all(beats(receiver, QUIET) for _ in range(20))


def test_probe_of_kubernetes_sees_a_beat(url: str, tmp_path: Path) -> None:
    notify = str(tmp_path / "notify")
    (probe,) = {tuple(each["livenessProbe"]["exec"]["command"]) for each in beating()}
    command = [sys.executable, *probe[1:]]
    with started("deliver", tmp_path, url, notify) as process:
        for _ in range(2):  # the second finds the socket of the first
            done = subprocess.run(
                command, cwd=ROOT, env={"NOTIFY_SOCKET": notify}, check=False, capture_output=True
            )
            assert (done.returncode, done.stderr) == (0, b""), (tmp_path / "log").read_text()
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_probe_fails_without_a_beat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setattr(heartbeat, "PROBE_SECONDS", 0.1)
    with pytest.raises(TimeoutError):
        heartbeat.wait_for_beat()


def test_beat_without_listener_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", str(tmp_path / "nobody")):
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        heartbeat.Heartbeat(time.monotonic).beat()


def beating() -> Iterator[dict[str, Any]]:
    """The containers that beat."""
    for name in ("watcher", "sender"):
        yield from pods()[name]["containers"]


def test_watchdogs_wait_for_several_beats() -> None:
    for name in ("watcher", "sender"):
        unit = units()[f"gateway-{name}.service"]
        assert unit["Type"] == ["notify"] and unit["Restart"] == ["always"]
        assert int(unit["WatchdogSec"][0]) >= 10 * heartbeat.BEAT_SECONDS
    for container in beating():
        assert container["livenessProbe"]["timeoutSeconds"] > heartbeat.PROBE_SECONDS
    assert heartbeat.PROBE_SECONDS > 2 * heartbeat.BEAT_SECONDS
