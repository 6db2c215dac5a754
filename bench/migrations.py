"""What every migration after 0009 does to those who ask for transfers meanwhile (PostgreSQL).

``python -m bench.migrations`` fills a database of revision 0009, serves it and migrates it to the newest, one
revision after another, while transfers are asked for and written. Ten million rows take two hours or more and
15 GB in the temporary folder; ``--rows 1000000`` is content with less, ``--rate`` asks less often.
``--only 0010 0017`` measures these, ``--percent 5`` lets them work at rows for so much of the time.
``--keep DIR`` leaves the filled database there, and further runs begin with a copy of it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psutil
import psycopg
from alembic.script import ScriptDirectory
from sqlalchemy import make_url

from app.models.migrating.steps import HALF, PERCENT
from bench.contenders import GUNICORN, POSTGRES, Setting, command, settings_for
from bench.database import Database, postgres_server
from bench.migrating.burden import burdened
from bench.migrating.locks import watching_locks, writing_meanwhile
from bench.migrating.old_database import REVISION, fill, transfer_id
from bench.migrating.steady import OK, Load, p99, steady_load
from bench.serving import ROOT, serving

ROWS: Final = 10_000_000
RATE: Final = 500
READS: Final = "bench.contestants.flask_floor:app"
"""Reads what a status is made of: no one version of the gateway serves all of these schemas."""

BASE_SECONDS: Final = 5.0
LOCK_SECONDS: Final = 1.0
TIMES_SLOWER: Final = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one migration did. Times in seconds, percentiles in milliseconds."""

    revision: str
    took: float
    held: float
    held_on: str
    queued: float
    longest_write: float
    asked: int
    failed: int
    p99: float
    p99_before: float

    @property
    def passed(self) -> bool:
        """Whether it is within the bars; a migration of less than a second has too few answers for a p99."""
        slower = self.p99 > TIMES_SLOWER * self.p99_before and self.asked >= RATE
        return (
            not self.failed and max(self.held, self.queued, self.longest_write) <= LOCK_SECONDS and not slower
        )


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the table; 1 when a bar is missed."""
    options = _options(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="gateway-bench-migrations-") as name,
        postgres_server(options.keep) as empty,
    ):
        database = (_copy_of_kept if options.keep else _fill)(empty, options.rows)
        folder, conninfo = Path(name), _conninfo(database)
        setting = Setting(sqlite_url="", postgres_url=database.url, processes=2, threads=4)
        server = (GUNICORN, READS, POSTGRES)
        numbers = range(1, options.rows + 1, max(1, options.rows // 20_000))
        paths = [f"/0x{transfer_id(number).hex()}" for number in numbers]
        with (
            serving(command(server, setting), settings_for(server, setting), folder / "log") as served,
            steady_load(served.port, options.rate, paths, folder) as load,
        ):
            burden = burdened(load, options.percent)
            outcomes = []
            for revision in _revisions():
                if options.only and revision not in options.only:
                    _upgrade(database, revision)
                else:
                    outcomes.append(_measure(revision, database, conninfo, load, options))
    _print(outcomes, options)
    print(
        f"\nBeside a program that only computes, as much of the time: p99 {burden[0]:.1f} ms,"
        f" {burden[1]:.1f} before."
    )
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _fill(database: Database, rows: int) -> Database:
    began = time.monotonic()
    _upgrade(database, REVISION)
    fill(_conninfo(database), rows)
    sys.stderr.write(f"{rows:,} rows in {time.monotonic() - began:.0f} s\n")
    return database


def _copy_of_kept(server: Database, rows: int) -> Database:
    """A new copy of the database that an earlier run filled, which is filled now where there is none."""
    kept, copy = f"filled_{rows}", "migrated"
    with psycopg.connect(_conninfo(server), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [kept]).fetchone():
            connection.execute("DROP DATABASE IF EXISTS filling")
            connection.execute("CREATE DATABASE filling")
            _fill(_named(server, "filling"), rows)
            connection.execute(f"ALTER DATABASE filling RENAME TO {kept}")
        connection.execute(f"DROP DATABASE IF EXISTS {copy}")
        connection.execute(f"CREATE DATABASE {copy} TEMPLATE {kept} STRATEGY file_copy")
    return _named(server, copy)


def _named(server: Database, name: str) -> Database:
    url = make_url(server.url).set(database=name)
    return replace(server, url=url.render_as_string(hide_password=False))


def _conninfo(database: Database) -> str:
    return database.url.replace("postgresql+psycopg:", "postgresql:")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="transfers, and as many events")
    parser.add_argument("--rate", type=int, default=RATE, help="requests a second")
    parser.add_argument("--percent", type=int, default=HALF, help="of the time: how long they work at rows")
    parser.add_argument("--only", nargs="+", default=[], help="revisions to measure; others are only run")
    parser.add_argument("--keep", type=Path, help="a folder for the filled database, which further runs copy")
    return parser.parse_args(arguments)


def _revisions() -> list[str]:
    found = ScriptDirectory(str(ROOT / "migrations")).walk_revisions()
    return sorted(script.revision for script in found if script.revision > REVISION)


def _measure(
    revision: str, database: Database, conninfo: str, load: Load, options: argparse.Namespace
) -> Outcome:
    load.catch_up()
    base = time.time()
    time.sleep(BASE_SECONDS)
    rows: int = options.rows
    written = [transfer_id(number) for number in range(1, rows + 1, max(1, rows // 997))]
    with watching_locks(conninfo) as locks, writing_meanwhile(conninfo, written) as writes:
        start = time.time()
        _upgrade(database, revision, options.percent)
        end = time.time()
        time.sleep(1)
    before, during = load.between(base, start - 0.5), load.between(start, end)
    outcome = Outcome(
        revision=revision,
        took=end - start,
        held=locks.held,
        held_on=locks.held_on,
        queued=locks.queued,
        longest_write=max(writes, default=0.0),
        asked=len(during),
        failed=sum(answer.status != OK for answer in during),
        p99=p99(during),
        p99_before=p99(before),
    )
    sys.stderr.write(f"{outcome}\n")
    return outcome


def _upgrade(database: Database, revision: str, percent: int = HALF) -> None:
    """As an operator does on a machine that serves."""
    keys = {"SECRET_KEY": "bench" * 8, "AUDIT_KEY": "bench" * 8}
    environment = {**os.environ, **keys, "DATABASE_URL": database.url}
    flask = ["nice", sys.executable, "-m", "flask", "--app", "wsgi"]
    program = [*flask, "db", "upgrade", "-x", f"{PERCENT}={percent}", revision]
    done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"upgrade to {revision} failed:\n{done.stdout}{done.stderr}")


def _print(outcomes: list[Outcome], options: argparse.Namespace) -> None:
    print(f"\n{options.rows:,} transfers and events, {options.rate} requests a second,"
          f" {psutil.cpu_count()} processors.\n")  # fmt: skip
    heads = ("revision", "s", "longest lock held, s", "longest wait for a lock, s", "longest write, s",
             "requests", "failed", "p99 ms", "p99 before, ms", "")  # fmt: skip
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for each in outcomes:
        held = f"{each.held:.2f} {each.held_on}".strip()
        print(
            f"| {each.revision} | {each.took:.1f} | {held} | {each.queued:.2f} | {each.longest_write:.2f} "
            f"| {each.asked:,} | {each.failed} | {each.p99:.1f} | {each.p99_before:.1f} "
            f"| {'' if each.passed else 'missed'} |"
        )


if __name__ == "__main__":
    sys.exit(main())
