"""The ways to back up and to restore that docs/operations.md describes, by its own commands."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from app.db.database import Database
from app.http.application import part_of
from tests.deploy.files import DEPLOY
from tests.restores.machine import Machine
from tests.restores.rehearsal import gateway_on
from tests.site.snippets import block_of


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


PAGE = "docs/operations.md"
MADE = block_of(PAGE, "cd /opt/gateway\napt-get install -y --no-install-recommends pgbackrest")
UNIT = DEPLOY / "postgres/gateway-backup.service"
"""It makes the first backup, too."""
WHOLE, UNTIL = (block_of(PAGE, f"pgbackrest --stanza=gateway {word}") for word in ("res", "--type"))
RUN = [MADE, WHOLE, UNTIL]


class PgBackRest:
    """PostgreSQL by pgBackRest, with the commands of the page; its folders are the machine's."""

    keeps_wal = True

    def __init__(self, machine: Machine) -> None:
        self.machine, self.url = machine, machine.url()
        folder = machine.folder
        machine.run("mkdir", "-p", *(str(folder / name) for name in ("repo", "spool", "lock", "logs")))
        self._configuration = folder / "pgbackrest.conf"
        written = (
            (DEPLOY / "postgres/pgbackrest.conf")
            .read_text()
            .replace(
                "[gateway]",
                f"lock-path={folder}/lock\nlog-path={folder}/logs\nspool-path={folder}/spool\n"
                "log-level-console=warn\n\n[gateway]",
            )
            .replace("/backups/pgbackrest", f"{folder}/repo")
            .replace("/var/lib/postgresql/15/main", str(machine.data))
        )
        self._configuration.write_text(f"{written}\npg1-socket-path={folder}\npg1-user=postgres\n")
        machine.configure(self.placed((DEPLOY / "postgres/archive.conf").read_text()))
        machine.stop()
        machine.start()
        made, checked = re.findall(r"^su postgres -c '(.*)'$", MADE.code, re.MULTILINE)
        (unit,) = re.findall(r"^ExecStart=/bin/sh -c '(.*)'$", UNIT.read_text(), re.MULTILINE)
        self._backed_up = unit.replace("$$", "$").replace("%%", "%")
        self.type(made)
        self.type(checked)

    def placed(self, text: str) -> str:
        """Commands or settings of the page with this machine's folders."""
        named = f"pgbackrest --config={self._configuration} --stanza"
        here = text.replace("/var/lib/postgresql/15/main", str(self.machine.data))
        return here.replace("pgbackrest --stanza", named)

    def type(self, text: str) -> None:
        """Type commands as the server's user, who finds the server's programs."""
        folder, programs = self.machine.folder, self.machine.programs
        known = f"export PATH={programs}:$PATH PGHOST={folder} PGPORT=5432 PGUSER=postgres"
        self.machine.run("bash", "-c", f"set -eu; {known}; {self.placed(text)}")

    def archive(self) -> None:
        self.machine.archive_all()

    def lose(self) -> None:
        self.machine.lose()

    def back_up(self) -> None:
        self.type(self._backed_up)

    def restore(self, until: str | None = None) -> None:
        self.machine.run("mkdir", "-m", "700", str(self.machine.data))
        self.type(
            WHOLE.code if until is None else re.sub(r"--target='[^']*'", f"--target='{until}'", UNTIL.code)
        )
        self.machine.start()


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
    with gateway_on(way.url) as app:
        connection = part_of(app, Database).engine.connect()
        with connection:
            return str(connection.exec_driver_sql("SELECT clock_timestamp()").scalar())
