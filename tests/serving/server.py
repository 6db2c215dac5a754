"""Starts a real gunicorn with this repository's configuration, on a port that the system chooses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import IO

import psutil

from tests.forked import ROOT, Forked

UNLIMITED = "tests.serving.unlimited:app"
MEASURED = "tests.serving.measured:app"
IN_USE = "/tests/in-use"
"""Where a worker of it reports how much memory it has in use."""

COMMAND = (sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py")


@dataclass(frozen=True, slots=True)
class Server:
    """A gunicorn that listens."""

    process: Forked | subprocess.Popen[str]
    host: str
    port: int
    below: str = ""
    """The path in the address that it prints at its start."""

    @property
    def base(self) -> str:
        """Its base address."""
        return f"http://{self.host}:{self.port}"

    def connect(self, seconds: float = 20) -> HTTPConnection:
        """A new connection to it."""
        return HTTPConnection(self.host, self.port, timeout=seconds)

    def request(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | str | None = None,
        seconds: float = 20,
    ) -> HTTPResponse:
        """One request on a connection of its own, with JSON unless a header names another type.

        The body of the answer is still to be read.
        """
        connection = self.connect(seconds)
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, body, kind | (headers or {}))
        return connection.getresponse()

    def workers(self, count: int) -> list[psutil.Process]:
        """Its workers, once there are so many: it listens before it has any."""
        master, end = psutil.Process(self.process.pid), time.monotonic() + 20
        while len(found := master.children()) < count:
            assert time.monotonic() < end, f"{len(found)} of {count} workers"
            time.sleep(0.02)
        return found

    def connections(self) -> int:
        """How many it has from clients."""
        port = f":{self.port:04X}"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(port) and row[3] == "01" for row in rows)

    def stop(self) -> int:
        """Let it finish what it is doing and end. Returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def environment(**settings: str) -> dict[str, str]:
    """The settings, and nothing else that the caller's shell may have set.

    Without a control socket, which takes two seconds to stop.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    ours = {"SECRET_KEY": "test-only secret key, 32 characters or more", "PORT": "0", "WEB_CONCURRENCY": "2"}
    return kept | ours | {"GUNICORN_CMD_ARGS": "--no-control-socket"} | settings


def ended_server(*options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A server that ends by itself, and what it printed."""
    command, env = [*COMMAND, *options, "wsgi:app"], environment(**settings)
    return subprocess.run(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextmanager
def serving(application: str, log: Path, **settings: str) -> Iterator[Server]:
    """A server of ``application`` with the settings, ended with the block."""
    with log.open("w") as errors:
        process = _start(application, errors, environment(**settings))
    try:
        assert process.stdout
        in_log = settings.get("LOG_FORMAT") == "json"
        found = announced_in_log(log) if in_log else announced(process.stdout, log)
        yield Server(process, *found)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=40)


def _start(application: str, errors: IO[str], env: dict[str, str]) -> Forked | subprocess.Popen[str]:
    if "LD_PRELOAD" not in env:
        return Forked("gunicorn", ("-c", "gunicorn.conf.py", application), env=env, stderr=errors)
    return subprocess.Popen(
        [*COMMAND, application],
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def announced(output: IO[str], log: Path) -> tuple[str, int, str]:
    """The address that the server prints once it listens: host, port, and the path that it is below."""
    for line in output:
        if found := re.fullmatch(r"API +http://([\d.]+):(\d+)(/[\w/.-]+)?/v2/\n", line):
            return found[1], int(found[2]), found[3] or ""
    raise AssertionError(f"gunicorn did not start:\n{log.read_text()}")


def announced_in_log(log: Path) -> tuple[str, int]:
    """The same of a server that writes its log as JSON: its address is there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if found := re.search(r"(?:API|Doors [a-z,]+ at) http://([\d.]+):(\d+)", log.read_text()):
            return found[1], int(found[2])
        time.sleep(0.05)
    raise AssertionError(f"gunicorn did not start:\n{log.read_text()}")
