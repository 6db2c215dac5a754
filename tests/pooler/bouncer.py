"""PgBouncer as it is shipped, in front of the run's PostgreSQL, to be stopped and started again."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from tests.deploy.pgbouncer import write_pgbouncer
from tests.programs import program

_PORT = 6432
"""Of its Unix socket: it listens to no other."""


class Bouncer:
    """PgBouncer on a socket in a folder of its own, run by the user of its PostgreSQL."""

    def __init__(self, folder: Path, server: str, mode: str = "transaction", size: int = 12) -> None:
        """
        :param server: URL of a database of the server.
        :param size: connections to the server for each database and role.
        """
        socket = make_url(server).query["host"]
        assert isinstance(socket, str)
        self._folder, self._socket = folder, socket
        settings = {
            "auth_type": "trust",
            "listen_addr": "",
            "listen_port": str(_PORT),
            "unix_socket_dir": str(folder),
            "pool_mode": mode,
            "default_pool_size": str(size),
        }
        write_pgbouncer(folder, {"*": f"host={socket}"}, settings)
        (folder / "users").write_text('"gateway" ""\n"bare" ""\n')
        os.chown(folder, Path(socket).stat().st_uid, -1)
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str, role: str = "gateway") -> str:
        """The URL of a database through the pooler."""
        name = make_url(database).database
        return f"postgresql+psycopg://{role}@/{name}?host={self._folder}&port={_PORT}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(
            [program("pgbouncer"), "-q", str(self._folder / "pgbouncer.ini")],
            user=Path(self._socket).stat().st_uid,
            stdout=subprocess.DEVNULL,
            stderr=(self._folder / "log").open("ab"),
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                psycopg.connect(host=str(self._folder), port=_PORT, user="gateway", dbname="postgres").close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"PgBouncer did not start:\n{(self._folder / 'log').read_text()}")

    def kill(self) -> None:
        """End it at once, with every connection."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def bouncing(server: str, mode: str = "transaction", size: int = 12) -> Iterator[Bouncer]:
    """One that runs, ended with the block. The folder's name is short: it holds a socket."""
    with tempfile.TemporaryDirectory(prefix="gw-pb-") as folder:
        bouncer = Bouncer(Path(folder), server, mode, size)
        bouncer.start()
        try:
            yield bouncer
        finally:
            bouncer.kill()
