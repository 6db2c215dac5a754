"""Upgrades take turns, wait shortly for locks, ask again, and leave nothing half done."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import stamp, upgrade
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from app import create_app
from app.db import migrating as turn
from app.db.migrating import Pace, again_while_locked, taking_turns
from app.db.models import db
from tests.applications import close_connections, make_settings
from tests.databases import new_postgres_database
from tests.migrating.old_database import fill

DIRECTORY = "migrations"
FIRST = "0001"


@pytest.fixture
def empty(postgres_server: str) -> Iterator[Flask]:
    """An application on a PostgreSQL without any table."""
    application = create_app(make_settings(new_postgres_database(postgres_server)))
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


def test_a_second_upgrade_waits_and_finds_nothing_to_do(
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
    logging.getLogger("alembic.env").addHandler(handler)
    engine = create_engine(db.engine.url)
    thread = threading.Thread(target=second)
    with taking_turns(engine, lambda _words: None):
        thread.start()
        assert waits.wait(20)
        assert not ended.is_set()
    thread.join(20)
    assert revision() == FIRST
    upgrade(directory=DIRECTORY, revision=FIRST)
    assert "the database is there already: nothing to do" in caplog.text
    logging.getLogger("alembic.env").removeHandler(handler)
    engine.dispose()


def lose_turn() -> None:
    """End the connection that holds the lock of an upgrade, as an outage of the network does."""
    with psycopg.connect(conninfo(), autocommit=True) as other:
        holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
        ended = other.execute(f"SELECT pg_terminate_backend(pid) FROM ({holders}) AS h").fetchall()
    assert ended == [(True,)]


def test_who_has_lost_its_turn_works_at_no_further_range(
    empty: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Hours may be left by then, and another upgrade may have begun."""
    upgrade(directory=DIRECTORY, revision="0009")
    fill(conninfo(), 1_000)
    followed: list[float] = []

    def follow(pace: Pace, took: float) -> None:
        followed.append(took)
        if len(followed) == 2:
            lose_turn()

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Pace, "follow", follow)
        upgrade(directory=DIRECTORY, revision="0010")
    assert len(followed) == 2, "of ten ranges"
    assert "the connection that kept other upgrades out is gone (terminating connection" in caplog.text
    assert revision() == "0009"
    upgrade(directory=DIRECTORY, revision="0010")
    assert revision() == "0010"


def test_who_has_lost_its_turn_commits_no_further_revision(
    empty: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade(directory=DIRECTORY, revision="0022")

    def lose(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE alembic_version") and not lost:
            lost.append(statement)
            lose_turn()

    lost: list[str] = []
    event.listen(Engine, "before_cursor_execute", lose)
    try:
        with pytest.raises(SystemExit):
            upgrade(directory=DIRECTORY, revision="0025")
    finally:
        event.remove(Engine, "before_cursor_execute", lose)
    assert revision() == "0022"
    assert "run the upgrade again" in caplog.text
    upgrade(directory=DIRECTORY, revision="0025")
    assert revision() == "0025"


def test_whoever_waits_keeps_no_view_that_an_index_would_wait_for(empty: Flask) -> None:
    """Nor does whoever holds the lock: otherwise ``CREATE INDEX CONCURRENTLY`` would never end."""
    engine = create_engine(db.engine.url)
    with taking_turns(engine, lambda _words: None), psycopg.connect(conninfo(), autocommit=True) as other:
        other.execute("SET statement_timeout = '5s'")
        other.execute("CREATE TABLE t (a int)")
        other.execute("CREATE INDEX CONCURRENTLY i ON t (a)")
    engine.dispose()


def test_a_lock_that_is_not_granted_is_asked_for_again_and_nothing_is_half_done(
    empty: Flask, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade(directory=DIRECTORY, revision="0022")
    holder = psycopg.connect(conninfo())
    holder.execute("LOCK TABLE route_blocks IN ACCESS SHARE MODE")
    seen: list[str | None] = []

    def pause(_seconds: float) -> None:
        seen.append(revision())
        with db.engine.connect() as connection:
            columns = "SELECT count(*) FROM information_schema.columns WHERE column_name = 'pinned_until'"
            assert connection.scalar(text(columns)) == 0  # 0023 adds it before it comes to route_blocks
        if len(seen) == 2:
            holder.rollback()

    monkeypatch.setattr(again_while_locked, "__kwdefaults__", {"attempts": 5, "sleep": pause})
    upgrade(directory=DIRECTORY, revision="0023")
    assert seen == ["0022", "0022"]
    assert revision() == "0023"
    assert caplog.text.count("a table is in use (canceling statement due to lock timeout)") == 2
    holder.close()


def test_each_revision_is_a_transaction_of_its_own(empty: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade(directory=DIRECTORY, revision="0020")
    monkeypatch.setattr(again_while_locked, "__kwdefaults__", {"attempts": 1, "sleep": lambda _s: None})
    with psycopg.connect(conninfo()) as holder:
        holder.execute("LOCK TABLE routes IN ACCESS SHARE MODE")
        with pytest.raises(OperationalError):
            upgrade(directory=DIRECTORY, revision="0023")
    assert revision() == "0022"


def test_an_index_that_was_broken_off_is_built_anew(empty: Flask) -> None:
    upgrade(directory=DIRECTORY, revision="0025")
    with psycopg.connect(conninfo(), autocommit=True) as other:
        other.execute("CREATE INDEX ix_transfers_id_end ON transfers (substr(transfer_id, 31, 2))")
        other.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_transfers_id_end'::regclass"
        )
        upgrade(directory=DIRECTORY, revision="0027")
        valid = other.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_transfers_id_end'::regclass"
        ).fetchone()
    assert valid == (True,)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("revision_id", ["0010", "0011", "0012", "0013", "0017", "0027", "0034"])
def test_a_revision_of_several_steps_begins_anew(
    empty: Flask, monkeypatch: pytest.MonkeyPatch, revision_id: str, number: int
) -> None:
    """Broken off behind any of the places where it commits, it runs to its end the next time."""
    before = ScriptDirectory(DIRECTORY).get_revision(revision_id).down_revision
    upgrade(directory=DIRECTORY, revision=str(before))
    blocks, through = [0], MigrationContext.autocommit_block

    @contextmanager
    def breaks_off(context: MigrationContext) -> Iterator[None]:
        with through(context):
            yield
        blocks[0] += 1
        if blocks[0] == number:
            raise InterruptedError

    with monkeypatch.context() as patched, suppress(InterruptedError):
        patched.setattr(MigrationContext, "autocommit_block", breaks_off)
        upgrade(directory=DIRECTORY, revision=revision_id)
    assert blocks[0] >= 1
    upgrade(directory=DIRECTORY, revision=revision_id)
    assert revision() == revision_id


def test_who_only_looks_waits_for_nobody(empty: Flask) -> None:
    stamp(directory=DIRECTORY, revision=FIRST)
    engine = create_engine(db.engine.url)
    with taking_turns(engine, lambda _words: None):
        result = empty.test_cli_runner().invoke(args=["db", "current", "-d", DIRECTORY])
    assert result.exit_code == 0
    engine.dispose()


def test_on_sqlite_an_upgrade_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There it is one transaction of the only writer, which waits for its turn as a whole."""
    file = tmp_path / "busy.db"
    application = create_app(make_settings(f"sqlite:///{file}"))
    monkeypatch.setattr(again_while_locked, "__kwdefaults__", {"attempts": 2, "sleep": lambda _s: None})
    with application.app_context():
        upgrade(directory=DIRECTORY, revision="0022")
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"):
            upgrade(directory=DIRECTORY)
        other.execute("ROLLBACK")
        assert revision() == "0022"
        upgrade(directory=DIRECTORY, revision="0023")
        assert revision() == "0023"
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
