"""A Redis of the system, to be frozen, stopped, filled and started again."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from tests.programs import program


class RedisServer:
    """On a socket in a folder of its own; nothing is stored on disk."""

    def __init__(self, folder: Path, *options: str) -> None:
        """
        :param options: of its command line.
        """
        self.socket = folder / "redis.sock"
        self._log = folder / "log"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For ``RATE_LIMIT_STORAGE_URL``, without a password."""
        return f"unix://{self.socket}"

    def start(self, until: str | None = None) -> None:
        """Start it, and wait until it listens.

        :param until: the URL at which it must answer, where it is not its own.
        """
        listening = ("--port", "0", "--unixsocket", str(self.socket))
        self._process = subprocess.Popen(
            [program("redis-server"), *listening, "--save", "", *self._options],
            cwd=self.socket.parent,
            stdout=self._log.open("ab"),
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                self.do("PING", url=until)
            except RedisError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError(f"Redis did not start:\n{self._log.read_text()}")

    def do(self, *words: str | int, url: str | None = None) -> object:
        """Its answer to a command."""
        with Redis.from_url(url or self.url) as connected:
            return cast("object", connected.execute_command(*words))

    def signal(self, number: signal.Signals) -> None:
        """Stop it where it is, or let it go on."""
        assert self._process
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once; what it counted is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def running_redis(*options: str, until: str | None = None) -> Iterator[RedisServer]:
    """One that runs, ended with the block. The folder's name is short: it holds a socket."""
    with tempfile.TemporaryDirectory(prefix="gw-rd-") as folder:
        server = RedisServer(Path(folder), *options)
        try:
            server.start(until)
            yield server
        finally:
            server.kill()
