"""The ways to back up and to restore that docs/operations.md describes, each as the tests walk it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.gateway import current_gateway
from tests.restores.machine import Machine
from tests.restores.rehearsal import gateway_on


class Way(Protocol):
    """A database that can be backed up, lost and restored."""

    url: str
    keeps_wal: bool
    """Whether what was written after the backup can be restored as well."""

    def back_up(self) -> None:
        """Make a backup, while the gateway runs."""

    def archive(self) -> None:
        """Have what is committed now in the archive, where there is one."""

    def lose(self) -> None:
        """Lose the machine that the database is on."""

    def restore(self, until: str | None = None) -> None:
        """Restore the backup, and what is in the archive: all of it, or until a time."""


class OnlineBackup:
    """SQLite, by ``flask backup``."""

    keeps_wal = False

    def __init__(self, folder: Path) -> None:
        self._file, self._backup = folder / "gateway.db", folder / "backup.db"
        self.url = f"sqlite:///{self._file}"

    def back_up(self) -> None:
        with gateway_on(self.url) as app:
            done = app.test_cli_runner().invoke(args=["backup", str(self._backup)])
            assert done.exit_code == 0, done.output

    def archive(self) -> None:
        """There is none."""

    def lose(self) -> None:
        for file in self._file.parent.glob("gateway.db*"):
            file.unlink()

    def restore(self, until: str | None = None) -> None:
        assert until is None
        shutil.copy(self._backup, self._file)


class BaseBackup:
    """PostgreSQL, by ``pg_basebackup`` and an archive of WAL."""

    keeps_wal = True

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.url = machine.url()

    def back_up(self) -> None:
        self.machine.back_up(self.machine.folder / "base")

    def archive(self) -> None:
        self.machine.archive_all()

    def lose(self) -> None:
        self.machine.lose()

    def restore(self, until: str | None = None) -> None:
        self.machine.restore(self.machine.folder / "base", until)


class PgBackRest:
    """PostgreSQL, by pgBackRest."""

    keeps_wal = True
    _STANZA = "gateway"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.url = machine.url()
        folder = machine.folder
        machine.run("mkdir", "-p", *(str(folder / name) for name in ("repo", "spool", "lock", "logs")))
        self._configuration = folder / "pgbackrest.conf"
        self._configuration.write_text(
            f"[global]\nrepo1-path={folder}/repo\nrepo1-retention-full=2\nlock-path={folder}/lock\n"
            f"log-path={folder}/logs\nspool-path={folder}/spool\nlog-level-console=warn\nstart-fast=y\n"
            f"[{self._STANZA}]\npg1-path={machine.data}\npg1-socket-path={folder}\npg1-user=postgres\n"
        )
        archived = self._command("archive-push", "%p")
        machine.configure(f"archive_command = '{' '.join(archived)}'")
        machine.stop()
        machine.start()
        self._run("stanza-create")
        self._run("check")

    def back_up(self) -> None:
        self._run("--type=full", "backup")

    def archive(self) -> None:
        self.machine.archive_all()

    def lose(self) -> None:
        self.machine.lose()

    def restore(self, until: str | None = None) -> None:
        self.machine.run("mkdir", "-m", "700", str(self.machine.data))
        wanted = () if until is None else ("--type=time", f"--target={until}", "--target-action=promote")
        self._run(*wanted, "restore")
        self.machine.start()

    def _command(self, *words: str) -> tuple[str, ...]:
        return "pgbackrest", f"--config={self._configuration}", f"--stanza={self._STANZA}", *words

    def _run(self, *words: str) -> None:
        self.machine.run(*self._command(*words))


@contextmanager
def running(machine: Machine) -> Iterator[Machine]:
    """A new server, for a test that loses it."""
    machine.create("fsync = off", "shared_buffers = 16MB")
    machine.start()
    try:
        yield machine
    finally:
        machine.stop()


def clock_of(way: Way) -> str:
    """The time by the database's own clock, as PostgreSQL reads it."""
    assert not isinstance(way, OnlineBackup)
    with gateway_on(way.url):
        connection = current_gateway().engine.connect()
        with connection:
            return str(connection.exec_driver_sql("SELECT clock_timestamp()").scalar())
