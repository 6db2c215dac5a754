"""A PgBouncer of the system in front of the run's PostgreSQL, to be stopped and started again."""

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

from tests.programs import program

_PORT = 6432
"""Of its Unix socket: it listens to no other."""

_CONFIG = """\
[databases]
* = host={server}
[pgbouncer]
pool_mode = {mode}
auth_type = trust
auth_file = {folder}/users
unix_socket_dir = {folder}
listen_port = {port}
default_pool_size = {size}
max_client_conn = 500
query_wait_timeout = 5
server_login_retry = 1
"""


class Bouncer:
    """PgBouncer on a socket in a folder of its own, run by the user whose PostgreSQL it asks."""

    def __init__(self, folder: Path, server: str, mode: str = "transaction", size: int = 12) -> None:
        """
        :param server: URL of a database of the server.
        :param size: connections to the server for each database and role.
        """
        socket = make_url(server).query["host"]
        assert isinstance(socket, str)
        self._folder, self._socket = folder, socket
        values = {"server": socket, "folder": folder, "port": _PORT, "mode": mode, "size": size}
        self._file("pgbouncer.ini", _CONFIG.format_map(values))
        self._file("users", '"gateway" ""\n"bare" ""\n')
        os.chown(folder, Path(socket).stat().st_uid, -1)
        self._process: subprocess.Popen[bytes] | None = None

    def _file(self, name: str, content: str) -> None:
        (self._folder / name).write_text(content)

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
