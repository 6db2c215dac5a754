"""The other programs of a deployment, each to be ended and started again at the same address."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

import psutil

from tests.deploy.files import ROOT, free_port
from tests.deploy.nginx import OPERATORS, PUBLIC, command, install_busy
from tests.deploy.pgbouncer import write_pgbouncer
from tests.faults_rig.postgres import DATABASE, PORT, ROLE, Postgres, own, owner
from tests.load.served import GATEWAY
from tests.programs import found

TIMEOUT_SECONDS: Final = 180
NEEDED: Final = ("nginx", "pgbouncer", "redis-server")
FAKETIME: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


class Program:
    """A process that is started with a command, and ended with the run."""

    def __init__(self, command: list[str], folder: Path, *, user: str | None = None) -> None:
        self.folder = folder
        self._command = command
        self._user = user
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> psutil.Process:
        """The one that runs."""
        assert self._child is not None
        return psutil.Process(self._child.pid)

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start it.

        :param settings: its environment, in addition to what every program needs.
        """
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        with (self.folder / "output").open("ab") as output:
            self._child = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env={**kept, **(settings or {})},
                user=self._user,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, and wait until it has ended."""
        if self._child is not None:
            self._child.send_signal(number)
            try:
                self._child.wait(timeout=45)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
            self._child = None


class Bouncer(Program):
    """PgBouncer in transaction mode, on a socket in its folder."""

    def __init__(self, folder: Path, primary: Postgres, replica: Postgres) -> None:
        super().__init__([_found("pgbouncer"), "-q", str(folder / "pgbouncer.ini")], folder, user=owner())
        self._replica = replica
        own(folder)
        (folder / "users").write_text(f'"{ROLE}" ""\n')
        self.lead_to(primary)

    def lead_to(self, primary: Postgres) -> None:
        """Write down which server is the primary; one that runs reads it after ``SIGHUP``."""
        write_pgbouncer(
            self.folder,
            {
                DATABASE: f"host={primary.folder} port={PORT}",
                "replica": f"host={self._replica.folder} port={PORT} dbname={DATABASE}",
            },
            {
                "auth_type": "trust",
                "listen_addr": "",
                "listen_port": str(PORT),
                "unix_socket_dir": str(self.folder),
            },
        )

    def url(self, database: str = DATABASE) -> str:
        """Of a database, through the pooler."""
        return f"postgresql+psycopg://{ROLE}@/{database}?host={self.folder}&port={PORT}"


class Redis(Program):
    """Counters of limits, which are not stored."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        super().__init__([_found("redis-server"), *options], folder)


class Nginx(Program):
    """The proxy in front of the gateways, as it is shipped."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        nginx = install_busy(folder, ports)
        self.port = nginx.ports[PUBLIC]
        self.operators = nginx.ports[OPERATORS]
        """Where reporters send to."""
        super().__init__(command(nginx), folder)


class Gateway(Program):
    """One gunicorn."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        super().__init__([sys.executable, "-m", *GATEWAY], folder)
        self.port = free_port()
        self.clock = folder / "clock"
        self.clock.write_text("+0\n")
        self.health_port = free_port()
        self._settings = {
            **settings,
            "HEALTH_PORT": str(self.health_port),
            "PORT": str(self.port),
            "GUNICORN_CMD_ARGS": "--no-control-socket",
        }

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start it, and wait until it is ready, and its health address shows it."""
        super().start({**self._settings, **(settings or {})})
        wait_for(f"the gateway of {self.folder}", lambda: status_of(self.port, "/readyz") == 200)
        wait_for(f"the health of {self.folder}", lambda: status_of(self.health_port, "/healthz") == 200)

    def start_with_a_clock(self) -> None:
        """Start it with a clock of its own, which shows what the file ``clock`` says (``+3600``)."""
        self.start(
            {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        )

    def kill_worker(self) -> None:
        """As the kernel kills what needs too much memory."""
        self.process.children()[0].kill()


def status_of(port: int, path: str) -> int:
    """The status of one answer; 0 where there is none."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def wait_for(what: str, happens: Callable[[], bool]) -> None:
    """Wait for something that other processes bring about.

    :raises RuntimeError: it does not happen.
    """
    end = time.monotonic() + TIMEOUT_SECONDS
    while not happens():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: it never happened")
        time.sleep(0.1)


def missing() -> list[str]:
    """Which programs are not here."""
    return [name for name in NEEDED if found(name) is None]


def _found(program: str) -> str:
    return found(program) or program
