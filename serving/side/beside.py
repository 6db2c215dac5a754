"""The master's part: takes the addresses, starts the process beside the workers, and starts it again."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import gevent

from app.metrics.files import MetricFiles, Unusable, begin
from config import Settings
from serving.side.addresses import addresses_of, listen, url_of

LOOK_SECONDS: Final = 0.25
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0
"""Between the end of the process and its next start; doubled each time that it ends soon after."""

LASTING_SECONDS: Final = 60.0
"""Whatever ran for longer has started well."""

END_SECONDS: Final = 3.0

_ROOT: Final = Path(__file__).resolve().parents[2]
_HANDED_OVER: Final = "GATEWAY_BESIDE"
"""Variable by which a master that is upgraded (USR2) gives its sockets to the next, as gunicorn does."""

_SHOWN: Final = {"metrics": ("Metrics ", "/metrics"), "health": ("Health  ", "/readyz")}

_log = logging.getLogger(__name__)


class Pipe(NamedTuple):
    """What is written into it stays there unread, for every process to see that has the other end."""

    heard: int
    told: int

    def close(self) -> None:
        """In a process that has no part in it."""
        os.close(self.heard)
        os.close(self.told)


class Beside:
    """Of one master. Its workers have copies, which do nothing but let go."""

    def __init__(self) -> None:
        self._files: MetricFiles | None = None
        self._sockets: dict[str, socket.socket] = {}
        self._stopping: Pipe | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = False

    def count(self, settings: Settings) -> None:
        """Have what is counted from now on come into files that the process can read. Once, however often
        the server's configuration is read.

        To be called before the application is made.

        :raises SystemExit: there is no place for them.
        """
        if settings.metrics_port is None or self._files is not None:
            return
        try:
            self._files = begin()
        except Unusable as unusable:
            raise SystemExit(f"METRICS_PORT: {unusable}") from None
        self._files.count_here()

    def listen(self, settings: Settings, server: Any) -> None:
        """Take the addresses, or take them over from the master that this one replaces.

        :param server: gunicorn's arbiter.
        :raises SystemExit: one is not free.
        """
        inherited = _inherited(server)
        try:
            for name, address in addresses_of(settings).items():
                self._sockets[name] = inherited.pop(name) if name in inherited else listen(address)
        except SystemExit:
            self.end()
            raise
        for unused in inherited.values():
            unused.close()

    def start(self) -> None:
        """Start the process where there is anything to tell, and keep it running."""
        if self._sockets:
            self._stopping = Pipe(*os.pipe())
            self._process = self._started()
            # A greenlet and no thread: workers have a copy of it, which can end there without a word.
            gevent.spawn(self._keep, os.getpid())

    def shown(self) -> list[str]:
        """The addresses, a line each, for whoever starts the server."""
        return [f"{_SHOWN[name][0]} {url_of(each)}{_SHOWN[name][1]}" for name, each in self._sockets.items()]

    def let_go(self) -> None:
        """In a worker: close what is the master's, so that no address is held when the master is gone."""
        for each in self._sockets.values():
            each.close()
        self._sockets.clear()
        if self._stopping is not None:
            self._stopping.close()
            self._stopping = None

    def worker_ended(self, pid: int) -> None:
        """Keep what a worker counted that has ended."""
        if self._files is not None:
            self._files.ended(pid)

    def hand_over(self, server: Any) -> None:
        """In the process that becomes the next master: let it find the sockets.

        Until one of the two masters ends both answer, each about its own workers.

        :param server: gunicorn's arbiter.
        """
        for each in self._sockets.values():
            each.set_inheritable(True)
        found = ",".join(f"{name}={each.fileno()}" for name, each in self._sockets.items())
        server.cfg.env_orig[_HANDED_OVER] = found

    def stopping(self) -> None:
        """The workers are about to be told to end: the process says that the server is not ready any more.

        So does one that is still starting, or is started later.
        """
        if self._stopping is not None:
            os.write(self._stopping.told, b"!")

    def end(self) -> None:
        """End the process: the server has stopped."""
        self._ending = True
        if self._process is not None:
            self._process.terminate()
            until = time.monotonic() + END_SECONDS
            while self._process.poll() is None and time.monotonic() < until:
                gevent.sleep(0.02)
            if self._process.poll() is None:
                self._process.kill()
        if self._files is not None:
            self._files.remove()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "serving.side", "--master", str(os.getpid())]
        if self._files is not None:
            command += ["--files", str(self._files.directory)]
        for name, each in self._sockets.items():
            command += [f"--{name}", str(each.fileno())]
        given = [each.fileno() for each in self._sockets.values()]
        if self._stopping is not None:
            command += ["--stopping", str(self._stopping.heard)]
            given.append(self._stopping.heard)
        # A new interpreter and no fork: what the master has patched, locked and opened does not concern it.
        return subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=given
        )

    def _keep(self, master: int) -> None:
        """Start it again whenever it has ended.

        :param master: workers have a copy of this greenlet, which must not go on in them.
        """
        pause, started = FIRST_PAUSE_SECONDS, time.monotonic()
        while not self._is_over(master):
            gevent.sleep(LOOK_SECONDS)
            if self._is_over(master) or self._process is None or self._process.poll() is None:
                continue
            lasted = time.monotonic() - started
            pause = FIRST_PAUSE_SECONDS if lasted > LASTING_SECONDS else min(2 * pause, LONGEST_PAUSE_SECONDS)
            _log.error("the process for metrics and health has ended: it is started again in %g s", pause)
            gevent.sleep(pause)
            if not self._is_over(master):
                started = time.monotonic()
                try:
                    self._process = self._started()
                except OSError as error:  # no memory, no process to be had: it may be there later
                    _log.error("the process for metrics and health cannot be started: %s", error.strerror)

    def _is_over(self, master: int) -> bool:
        return self._ending or os.getpid() != master


def _inherited(server: Any) -> dict[str, socket.socket]:
    environment = server.cfg.env_orig
    if "GUNICORN_PID" not in environment:
        return {}
    pairs = [each.partition("=") for each in environment.get(_HANDED_OVER, "").split(",") if each]
    return {name: socket.socket(fileno=int(number)) for name, _, number in pairs}


BESIDE: Final = Beside()
"""Of the master in this process."""
