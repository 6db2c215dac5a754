"""Upgrades take turns, wait shortly for locks, try again, and leave nothing half done."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic.runtime.migration import MigrationContext
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from app import create_app
from app.db import migrating as turn
from app.db.migrating import Pace, again_while_locked, taking_turns
from app.db.models import db
from app.db.schema import newest_schema
from tests.applications import close_connections, make_settings
from tests.databases import new_postgres_database
from tests.migrating.planted import plant

DIRECTORY = "migrations"
FIRST = newest_schema()


@pytest.fixture
def empty(postgres_server: str) -> Iterator[Flask]:
    """An application on a PostgreSQL without any table."""
    application = create_app(make_settings(new_postgres_database(postgres_server)))
    with application.app_context():
        yield application
        close_connections()


@pytest.fixture
def migrated(postgres_server: str, postgres_template: str) -> Iterator[Flask]:
    """An application on an empty PostgreSQL of the newest revision."""
    application = create_app(make_settings(new_postgres_database(postgres_server, postgres_template)))
    with application.app_context():
        yield application
        close_connections()


def conninfo() -> str:
    url = make_url(db.engine.url.render_as_string(hide_password=False))
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def revision() -> str | None:
    with db.engine.connect() as connection:
        found: str | None = connection.scalar(text("SELECT max(version_num) FROM alembic_version"))
        return found


def test_second_upgrade_waits_and_does_nothing(
    empty: Flask, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "_LOOK_AGAIN_SECONDS", 0.05)
    waits, ended = threading.Event(), threading.Event()

    class Waits(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "another upgrade of this database is running" in record.getMessage():
                waits.set()

    def second() -> None:
        with empty.app_context():
            upgrade(directory=DIRECTORY, revision=FIRST)
        ended.set()

    handler = Waits()
    logging.getLogger("migrations").addHandler(handler)
    engine = create_engine(db.engine.url)
    thread = threading.Thread(target=second)
    with taking_turns(engine, lambda _words: None):
        thread.start()
        assert waits.wait(20)
        assert not ended.is_set()
    thread.join(20)
    assert revision() == FIRST
    caplog.set_level(logging.INFO, "migrations")
    upgrade(directory=DIRECTORY, revision=FIRST)
    assert "the database has this schema already: nothing to do" in caplog.text
    logging.getLogger("migrations").removeHandler(handler)
    engine.dispose()


def lose_turn() -> None:
    """End the connection that holds the lock of an upgrade, as an outage of the network does."""
    with psycopg.connect(conninfo(), autocommit=True) as other:
        holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
        ended = other.execute(f"SELECT pg_terminate_backend(pid) FROM ({holders}) AS h").fetchall()
    assert ended == [(True,)]


COLUMNS = 'sa.Column("id", sa.BigInteger(), primary_key=True), sa.Column("n", sa.Integer())'
TABLE = f'op.create_table("planted", {COLUMNS})'
ROWS = 'op.execute("INSERT INTO planted SELECT n, 0 FROM generate_series(1, 1000) AS n")'
RANGES = 'by_range("planted", "id", "UPDATE planted SET n = 1 WHERE {range}")'


def test_lost_turn_stops_further_ranges(
    migrated: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Hours may be left by then, and another upgrade may have begun."""
    directory = plant(tmp_path, f"{TABLE}\n{ROWS}", RANGES)
    upgrade(directory=directory, revision="9001")
    followed: list[float] = []

    def follow(pace: Pace, took: float) -> None:
        followed.append(took)
        if len(followed) == 2:
            lose_turn()

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Pace, "follow", follow)
        upgrade(directory=directory)
    assert len(followed) == 2, "of ten ranges"
    assert "the connection that locked out other upgrades is gone (terminating connection" in caplog.text
    assert revision() == "9001"
    upgrade(directory=directory)
    assert revision() == "9002"


def test_lost_turn_stops_further_revisions(
    migrated: Flask, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = plant(tmp_path, TABLE, ROWS)

    def lose(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE alembic_version") and not lost:
            lost.append(statement)
            lose_turn()

    lost: list[str] = []
    event.listen(Engine, "before_cursor_execute", lose)
    try:
        with pytest.raises(SystemExit):
            upgrade(directory=directory)
    finally:
        event.remove(Engine, "before_cursor_execute", lose)
    assert revision() == FIRST
    assert "run the upgrade again" in caplog.text
    upgrade(directory=directory)
    assert revision() == "9002"


def test_waiting_holds_no_snapshot(migrated: Flask) -> None:
    """Nor does the holder of the lock: otherwise ``CREATE INDEX CONCURRENTLY`` would never end."""
    engine = create_engine(db.engine.url)
    with taking_turns(engine, lambda _words: None), psycopg.connect(conninfo(), autocommit=True) as other:
        other.execute("SET statement_timeout = '5s'")
        other.execute("CREATE TABLE t (a int)")
        other.execute("CREATE INDEX CONCURRENTLY i ON t (a)")
    engine.dispose()


def column_of(table: str) -> str:
    """A step that needs the table for itself."""
    return f'add_columns("{table}", sa.Column("planted", sa.Integer()))'


def test_refused_lock_is_retried_cleanly(
    migrated: Flask, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = plant(tmp_path, f"{column_of('chains')}\n{column_of('route_blocks')}")
    holder = psycopg.connect(conninfo())
    holder.execute("LOCK TABLE route_blocks IN ACCESS SHARE MODE")
    seen: list[str | None] = []

    def pause(_seconds: float) -> None:
        seen.append(revision())
        with db.engine.connect() as connection:
            columns = "SELECT count(*) FROM information_schema.columns WHERE column_name = 'planted'"
            assert connection.scalar(text(columns)) == 0  # that of chains was added before
        if len(seen) == 2:
            holder.rollback()

    monkeypatch.setattr(again_while_locked, "__kwdefaults__", {"attempts": 5, "sleep": pause})
    upgrade(directory=directory)
    assert seen == [FIRST, FIRST]
    assert revision() == "9001"
    assert caplog.text.count("a table is in use (canceling statement due to lock timeout)") == 2
    holder.close()


def test_upgrade_commits_each_revision(
    migrated: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = plant(tmp_path, column_of("chains"), column_of("routes"))
    monkeypatch.setattr(again_while_locked, "__kwdefaults__", {"attempts": 1, "sleep": lambda _s: None})
    with psycopg.connect(conninfo()) as holder:
        holder.execute("LOCK TABLE routes IN ACCESS SHARE MODE")
        with pytest.raises(OperationalError):
            upgrade(directory=directory)
    assert revision() == "9001"


INDEX = 'create_index("ix_planted", "transfers", ["amount"])'


def test_interrupted_index_is_rebuilt(migrated: Flask, tmp_path: Path) -> None:
    with psycopg.connect(conninfo(), autocommit=True) as other:
        other.execute("CREATE INDEX ix_planted ON transfers (amount)")
        other.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_planted'::regclass")
        upgrade(directory=plant(tmp_path, INDEX))
        valid = other.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_planted'::regclass"
        ).fetchone()
    assert valid == (True,)


STEPS = (column_of("transfers"), INDEX, RANGES, 'drop_index("ix_transfers_age", "transfers")', INDEX)


@pytest.mark.parametrize("number", range(1, len(STEPS)))
def test_revision_of_several_steps_begins_again(
    migrated: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Broken off behind any of the places where it commits, it runs to its end the next time."""
    directory = plant(tmp_path, f"{TABLE}\n{ROWS}", "\n".join(STEPS))
    upgrade(directory=directory, revision="9001")
    blocks, through = [0], MigrationContext.autocommit_block

    @contextmanager
    def breaks_off(context: MigrationContext) -> Iterator[None]:
        with through(context):
            yield
        blocks[0] += 1
        if blocks[0] == number:
            raise InterruptedError

    with monkeypatch.context() as patched, pytest.raises(InterruptedError):
        patched.setattr(MigrationContext, "autocommit_block", breaks_off)
        upgrade(directory=directory)
    assert revision() == "9001"
    upgrade(directory=directory)
    assert revision() == "9002"
    with db.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM planted WHERE n = 1")) == 1000


def test_reading_command_waits_for_nobody(migrated: Flask) -> None:
    engine = create_engine(db.engine.url)
    with taking_turns(engine, lambda _words: None):
        result = migrated.test_cli_runner().invoke(args=["db", "current", "-d", DIRECTORY])
    assert result.exit_code == 0
    engine.dispose()


def test_failed_sqlite_upgrade_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There it is one transaction of the only writer, which waits for its turn as a whole."""
    file = tmp_path / "busy.db"
    application = create_app(make_settings(f"sqlite:///{file}"))
    monkeypatch.setattr(again_while_locked, "__kwdefaults__", {"attempts": 2, "sleep": lambda _s: None})
    with application.app_context():
        upgrade(directory=DIRECTORY)
        directory = plant(tmp_path, column_of("chains"))
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"):
            upgrade(directory=directory)
        other.execute("ROLLBACK")
        assert revision() == FIRST
        upgrade(directory=directory)
        assert revision() == "9001"
        close_connections()


def test_other_errors_are_not_tried_again() -> None:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        with create_engine("sqlite://").connect() as connection:
            connection.execute(text("SELECT 1 FROM nowhere"))

    with pytest.raises(OperationalError):
        again_while_locked(fail, lambda _words: None, sleep=lambda _s: None)
    assert len(calls) == 1
