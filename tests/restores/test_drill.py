"""The drill restores the last backup next to the running database, and fails where anything is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from sqlalchemy import text

from app.db.database import Database
from app.http.application import part_of
from tests.deploy.files import DEPLOY
from tests.programs import program
from tests.restores.machine import Machine
from tests.restores.rehearsal import begin, gateway_on, report, sandbox
from tests.restores.ways import PgBackRest

pytestmark = [pytest.mark.slow, pytest.mark.system]

Drill = Callable[[], str]


@pytest.fixture
def backed_up(debian: Machine) -> Iterator[tuple[PgBackRest, Drill]]:
    """A database with a backup and more in its archive, and the drill of it."""
    program("pgbackrest")
    way = PgBackRest(debian)
    lines = sandbox()[1]
    half = len(lines) // 2
    begin(way.url)
    with gateway_on(way.url) as app:
        report(app, lines[:half])
    way.back_up()
    with gateway_on(way.url) as app:
        report(app, lines[half:])
    way.archive()
    yield way, lambda: drill(debian, way)


STAND_IN = """\
#!/bin/sh
shift 2
echo "$DATABASE_URL $*" >FOLDER/wanted.part && mv FOLDER/wanted.part FOLDER/wanted
until [ -e FOLDER/code ]; do sleep 0.05; done
cat FOLDER/printed; code=$(cat FOLDER/code); rm -f FOLDER/code; exit "$code"
"""
"""In place of the gateway's program, which the server's user may not be able to start here."""


def drill(machine: Machine, way: PgBackRest) -> str:
    """What the drill prints. The gateway's commands are run by this process, on the database that it names.

    :raises RuntimeError: it failed; with what it printed.
    """
    folder = machine.folder
    for name, script in {
        "flask": STAND_IN.replace("FOLDER", str(folder)),
        "drill": way.placed((DEPLOY / "postgres/restore-drill").read_text()),
    }.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    variables = f"DRILL={folder}/restore-drill BIN={machine.programs} DATABASE=postgres ROLE=postgres"
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(machine.run, "bash", "-c", f"{variables} FLASK={folder}/flask sh {folder}/drill")
        while not done.done():
            if (wanted := folder / "wanted").exists():
                url, *words = wanted.read_text().split()
                wanted.unlink()
                with gateway_on(url.replace("postgresql:", "postgresql+psycopg:")) as app:
                    result = app.test_cli_runner().invoke(args=words)
                (folder / "printed").write_text(result.output)
                (folder / "code.part").write_text(str(result.exit_code))
                (folder / "code.part").rename(folder / "code")
            time.sleep(0.05)
        return done.result()


def servers(machine: Machine) -> list[str]:
    """The command of each server of PostgreSQL whose data is in the machine's folder."""
    found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [" ".join(line) for line in found if "-D" in line and str(machine.folder) in " ".join(line)]


def test_good_backup_is_restored_verified_removed(backed_up: tuple[PgBackRest, Drill]) -> None:
    way, drilled = backed_up
    machine = way.machine
    before = machine.query("SELECT count(*) FROM events")
    printed = drilled()
    transfers = machine.query("SELECT count(*) FROM transfers")
    assert f"verified: {transfers} transfers, 0 rows differ from the log" in printed, "with its archive"
    assert "verified records: " in printed
    assert printed.endswith("the last backup can be restored\n")
    assert machine.query("SELECT count(*) FROM events") == before, "the running database is left as it is"
    assert machine.query("SELECT failed_count FROM pg_stat_archiver") == 0
    assert not (machine.folder / "restore-drill").exists()
    assert len(servers(machine)) == 1
    segments = {file.name[:8] for file in (machine.folder / "repo/archive").rglob("*-*.gz")}
    assert segments == {"00000001"}, "what the restored one wrote is not in the repository"


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        ("UPDATE transfers SET status = 4 WHERE status = 5", "rows differ from the log"),
        ("UPDATE audit_records SET detail = 'another' WHERE id = 1", "record 1"),
    ],
)
def test_wrong_restore_fails_the_drill(
    backed_up: tuple[PgBackRest, Drill], harm: str, complaint: str
) -> None:
    way, drilled = backed_up
    with gateway_on(way.url) as app, part_of(app, Database).engine.begin() as connection:
        connection.execute(text(harm))
    way.archive()
    with pytest.raises(RuntimeError, match=complaint) as failed:
        drilled()
    assert "can be restored" not in str(failed.value)
    assert not (way.machine.folder / "restore-drill").exists()
    assert len(servers(way.machine)) == 1


def test_drill_without_backup_fails_safely(backed_up: tuple[PgBackRest, Drill]) -> None:
    """It empties no other folder."""
    way, drilled = backed_up
    next((way.machine.folder / "repo/backup").rglob("PG_VERSION.gz")).unlink()
    with pytest.raises(RuntimeError):
        drilled()
    assert len(servers(way.machine)) == 1
    with pytest.raises(RuntimeError, match="must be a path that ends"):
        way.machine.run("sh", "-c", f"DRILL={way.machine.folder} sh {way.machine.folder}/drill")
    assert way.machine.query("SELECT 1") == 1
