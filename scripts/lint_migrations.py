"""``make lint``: whether migrations lock tables in use, by squawk, over the SQL that they would run.

Every migration after the first is checked. One that squawk reports without need has its own exemptions: in
``SQUAWK``, the name of each rule with the reason why it does not apply there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from flask import Flask, current_app

from app import create_app
from app.db.schema import FIRST
from config import Settings

ROOT: Final = Path(__file__).resolve().parent.parent
SINCE: Final = FIRST
"""Migrations after this one are checked: it makes new tables, which nobody uses yet."""

OLDEST_POSTGRESQL: Final = "15.0"

EVERYWHERE: Final = {
    "prefer-text-field": "lengths are part of the interface, and PostgreSQL widens them without writing rows",
    "prefer-identity": "SQLAlchemy's serial columns are the same on both databases",
    "prefer-bigint-over-int": "what is counted there has few values",
    "prefer-bigint-over-smallint": "what is counted there has few values",
    "prefer-robust-stmts": "Alembic notes in the same transaction that a revision has run",
    "require-statement-timeout": "migrations/env.py bounds every wait for a lock; work itself may take long",
}
"""Rules of squawk that are not ours, each with the reason."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A report of squawk about the SQL of a revision."""

    revision: str
    rule: str
    message: str
    statement: str

    def __str__(self) -> str:
        return f"{self.revision}: {self.rule}: {self.message}\n    {self.statement}"


def main() -> int:
    complaints = [each for script in revisions() for each in complaints_about(script)]
    for complaint in complaints:
        sys.stdout.write(f"{complaint}\n")
    return 1 if complaints else 0


def revisions(since: str = SINCE) -> list[Script]:
    """The migrations after a revision, oldest first."""
    found = ScriptDirectory(str(ROOT / "migrations")).walk_revisions()
    return [script for script in reversed(list(found)) if script.revision > since]


def exemptions(script: Script) -> Mapping[str, str]:
    found: Mapping[str, str] = getattr(script.module, "SQUAWK", {})
    return found


def complaints_about(script: Script) -> list[Complaint]:
    """The reports about an upgrade, without its exemptions."""
    exempt = {**EVERYWHERE, **exemptions(script)}
    found = complaints_in(script.revision, sql_of(f"{script.down_revision}:{script.revision}"))
    return [complaint for complaint in found if complaint.rule not in exempt]


def sql_of(span: str) -> str:
    """The SQL for PostgreSQL.

    :param span: two revisions, as in ``0048:0049``.
    """
    return _written(lambda config: command.upgrade(config, span, sql=True))


def _written(run: Callable[[Config], None]) -> str:
    with _application().app_context():
        config = current_app.extensions["migrate"].migrate.get_config(str(ROOT / "migrations"))
        config.output_buffer = StringIO()
        run(config)
        written: str = config.output_buffer.getvalue()
        return written


@cache
def _application() -> Flask:
    """An application for a PostgreSQL that is never connected to."""
    url, key = "postgresql+psycopg://nobody@localhost/none", "lint" * 8
    return create_app(Settings(database_url=url, secret_key=key, audit_key=key, doors=("api",)))


def complaints_in(revision: str, sql: str) -> list[Complaint]:
    return list(_squawk(revision, sql))


def _squawk(revision: str, sql: str) -> Iterator[Complaint]:
    program = Path(sys.executable).with_name("squawk")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{revision}.sql"
        file.write_text(sql)
        options = ["--reporter", "json", "--pg-version", OLDEST_POSTGRESQL, "--no-assume-in-transaction"]
        done = subprocess.run([program, *options, file], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise SystemExit(f"squawk ended with {done.returncode}: {done.stderr.strip()}; correct the migration")
    lines = sql.splitlines()
    for said in json.loads(done.stdout):
        yield Complaint(revision, said["rule_name"], said["message"], lines[said["line"]])


if __name__ == "__main__":
    sys.exit(main())
