"""Old code on the new schema, new code on the old one: during a rolling upgrade both are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flask_migrate import upgrade
from sqlalchemy import create_engine, inspect, text

from app import create_app
from app.db.models import db
from app.db.schema import oldest_schema
from tests.applications import close_connections, make_settings
from tests.contract import recorded_answers
from tests.contract.recorded_answers import send_request
from tests.databases import new_postgres_database
from tests.migrating.older import answers_of, checked_out
from tests.serving.migrated import sqlite_url

NEWER = "9998"
EXPANDS = (
    "CREATE TABLE of_a_newer_version (id INTEGER PRIMARY KEY)",
    "ALTER TABLE transfers ADD COLUMN of_a_newer_version INTEGER",
    "ALTER TABLE chains ADD COLUMN of_a_newer_version VARCHAR(8) NOT NULL DEFAULT 'none'",
    "ALTER TABLE events ADD COLUMN of_a_newer_version BOOLEAN NOT NULL DEFAULT FALSE",
    "CREATE INDEX ix_of_a_newer_version ON transfers (of_a_newer_version)",
    f"UPDATE alembic_version SET version_num = '{NEWER}'",
)
"""What a migration that expands may do."""

SLOW_ON_POSTGRESQL = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
"""On PostgreSQL everyday: the oldest code on this schema, and both while ``test_rolling.py`` upgrades."""
SLOW_ON_SQLITE = (pytest.param("sqlite", marks=pytest.mark.slow), "postgresql")


def migrated(url: str, revision: str) -> str:
    """The URL, of which the database is of a revision now."""
    application = create_app(make_settings(url))
    with application.app_context():
        upgrade(directory="migrations", revision=revision)
        close_connections()
    return url


def run(url: str, *statements: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def test_oldest_schema_has_every_column(empty_url: str) -> None:
    """What a model has and the schema has not is read by every statement of that model."""
    engine = create_engine(migrated(empty_url, oldest_schema()))
    there = {
        table: {each["name"] for each in columns}
        for (_, table), columns in inspect(engine).get_multi_columns().items()
    }
    missing = {
        f"{table}.{name}"
        for table, model in db.metadata.tables.items()
        for name in set(model.columns.keys()) - there.get(table, set())
    }
    engine.dispose()
    assert not missing, "a migration that this code needs has NEEDED = False"


def changed_answers(url: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The recorded requests that this code answers otherwise on a database, which stays as it is migrated."""
    monkeypatch.setattr(recorded_answers, "upgrade", lambda **_: None)
    app = recorded_answers.sandbox_on(url)
    exchanges = json.loads(recorded_answers.RECORDED.read_text())
    assert len(exchanges) > 200
    changed = [each for each in exchanges if send_request(app, each["request"]) != each["answer"]]
    with app.app_context():
        close_connections()
    return changed


@pytest.mark.parametrize("empty_url", SLOW_ON_POSTGRESQL, indirect=True)
def test_this_code_runs_on_the_oldest_schema(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a later revision added, an answer does without, and so do the feed and the commands."""
    assert changed_answers(migrated(empty_url, oldest_schema()), monkeypatch) == []


@pytest.fixture
def current_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of the newest revision."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path, request.getfixturevalue("sqlite_template"))
    names = ("postgres_server", "postgres_template")
    return new_postgres_database(*map(request.getfixturevalue, names))


@pytest.mark.parametrize("current_url", SLOW_ON_SQLITE, indirect=True)
def test_oldest_code_runs_on_this_schema(tmp_path: Path, current_url: str) -> None:
    code = checked_out(tmp_path / "code")
    assert answers_of(code, current_url) == "[0, []]"


@pytest.mark.parametrize("current_url", SLOW_ON_POSTGRESQL, indirect=True)
def test_code_runs_on_expanded_schema(current_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(current_url, *EXPANDS)
    assert changed_answers(current_url, monkeypatch) == []
