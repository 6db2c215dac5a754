"""A PostgreSQL of Debian that is lost and restored. As root it runs as an own user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from sqlalchemy import create_engine, text

DEBIAN_15: Final = Path("/usr/lib/postgresql/15/bin")
"""Where Debian 12 has PostgreSQL 15, which its pgBackRest knows."""

TIMEOUT: Final = 1800.0
"""Seconds for a server to start or to replay its archive."""


@dataclass(slots=True)
class Machine:
    """One server, in a folder of its own: ``data`` and its socket.

    :param programs: the folder of ``initdb`` and ``pg_ctl``.
    :param folder: short, for it holds the socket.
    :param user: who runs it; None for the user of this process.
    """

    programs: Path
    folder: Path
    user: str | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self.folder / "data"

    def url(self, database: str = "postgres") -> str:
        """Of a database, for the gateway."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}&port=5432"

    def create(self, *settings: str) -> None:
        """Make an empty cluster.

        :param settings: further lines of ``postgresql.conf``; later ones count.
        """
        options = ("--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(self.data))
        self.run(str(self.programs / "initdb"), *options)
        self.configure(*settings)

    def configure(self, *lines: str) -> None:
        """Add lines to its configuration; the last of a name counts."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def start(self) -> None:
        """Start it, and wait until it takes writes: until it has replayed what it has to."""
        options = f"-h '' -k {self.folder} -p 5432"
        start = ("-o", options, "-l", str(self.folder / "log"), "-t", str(int(TIMEOUT)), "-w", "start")
        self.run(str(self.programs / "pg_ctl"), "-D", str(self.data), *start)
        until = time.monotonic() + TIMEOUT
        while self.query("SELECT pg_is_in_recovery()"):
            if time.monotonic() > until:
                raise TimeoutError("it does not come out of recovery")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in order, where it runs."""
        if (self.data / "postmaster.pid").exists():
            self.run(str(self.programs / "pg_ctl"), "-D", str(self.data), "-m", "fast", "-w", "stop")

    def lose(self) -> None:
        """Kill it and remove its data directory, as a machine is lost with its disk."""
        number = int((self.data / "postmaster.pid").read_text().split()[0])
        postmaster = psutil.Process(number)
        everyone = [postmaster, *postmaster.children()]
        for process in everyone:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(everyone, timeout=60)
        shutil.rmtree(self.data)
        for left in self.folder.glob(".s.PGSQL*"):
            left.unlink()

    def archive_all(self) -> None:
        """Have everything that is committed now in the archive."""
        name = self.query("SELECT pg_walfile_name(pg_current_wal_lsn())")
        self.query("SELECT pg_switch_wal()")
        until = time.monotonic() + 60
        while str(self.query("SELECT last_archived_wal FROM pg_stat_archiver") or "") < str(name):
            if time.monotonic() > until:
                raise TimeoutError("nothing is archived")
            time.sleep(0.05)

    def query(self, statement: str) -> object:
        """The first value that a statement returns."""
        engine = create_engine(self.url(), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                result = connection.execute(text(statement))
                return result.scalar() if result.returns_rows else None
        finally:
            engine.dispose()

    def run(self, *command: str, check: bool = True) -> str:
        """Run a program as the server's user; what it printed.

        :raises RuntimeError: it failed; with what it printed.
        """
        # Not through pipes: the server that pg_ctl starts would hold them open.
        output = self.folder / f".{Path(command[0]).name}.out"
        with output.open("w") as file:
            done = subprocess.run(
                command,
                cwd="/",
                user=self.user,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                check=False,
            )
        output_text = output.read_text()
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {output_text}")
        return output_text
