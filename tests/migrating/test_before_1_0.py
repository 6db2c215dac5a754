"""A database from before 1.0.0 is left as it is, and its operator gets the way; one of 1.0.0 is upgraded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import check, upgrade

from app import create_app
from app.db.models import db
from app.db.schema import FIRST
from scripts.start import prepare_database
from scripts.venv import Progress
from tests.applications import close_connections, make_settings
from tests.migrating.older import ROOT

WAY = "which no release since 1.0.0 made: first run `flask --app wsgi db upgrade` of release 1.0.1"


@pytest.fixture
def of_1_0_0(empty_url: str) -> Iterator[Flask]:
    """An application on a database with the schema of 1.0.0."""
    application = create_app(make_settings(empty_url))
    with application.app_context():
        upgrade(directory="migrations", revision=FIRST)
        yield application
        close_connections()


def schema() -> dict[str, str]:
    """All tables with their columns, and the revision."""
    with db.engine.connect() as connection:
        columns = sa.inspect(connection).get_multi_columns().items()
        tables = {table: str(found) for (_, table), found in columns}
        return tables | {"revision": str(connection.scalars(sa.text("SELECT * FROM alembic_version")).all())}


def stamp(revision: str) -> dict[str, str]:
    with db.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    return schema()


def test_schema_of_1_0_0_is_upgraded(of_1_0_0: Flask) -> None:
    """To that of the models."""
    upgrade(directory="migrations")
    check(directory="migrations")


@pytest.mark.parametrize(("revision", "command"), [("0047", "db upgrade"), ("ae1027a6acf", "make run")])
def test_older_database_is_refused(
    of_1_0_0: Flask, caplog: pytest.LogCaptureFixture, revision: str, command: str
) -> None:
    before = stamp(revision)
    caplog.clear()
    with pytest.raises(SystemExit) as refused:
        if command == "db upgrade":
            upgrade(directory="migrations")
        else:
            prepare_database(of_1_0_0, Progress("Starting"))
    assert refused.value.code == 1
    assert schema() == before
    message = caplog.messages[-1]
    assert f"nothing was changed: the database has revision {revision}, {WAY}" in message
    assert "\n" not in message


@pytest.mark.parametrize("empty_url", ["sqlite"], indirect=True)
def test_db_upgrade_refuses_old_schema_in_one_line(of_1_0_0: Flask) -> None:
    stamp("0047")
    keys = {"SECRET_KEY": "test" * 10, "AUDIT_KEY": "test" * 10}
    url = db.engine.url.render_as_string(hide_password=False)
    done = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"],
        cwd=ROOT,
        env={**os.environ, **keys, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 1
    assert [line for line in output.splitlines() if WAY in line] == output.splitlines()[-1:]
    assert "Traceback" not in output
