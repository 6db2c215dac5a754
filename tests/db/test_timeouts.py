"""How long each kind of work waits for the database."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from app import create_app
from app.db.database import Database
from app.db.engine import prepare, reading, writing
from app.db.timeouts import COMMAND, CONSOLE, FEED, MIGRATION, PUBLIC, Timeouts, set_timeouts
from app.http.application import part_of
from tests.applications import close_connections, make_settings

HURRY = Timeouts(lock=0.05, statement=0.2)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = create_engine(database_url)
    prepare(made, HURRY)
    yield made
    made.dispose()


def settings(engine: Engine) -> tuple[str, str]:
    with reading(engine) as connection:
        found = connection.execute(
            text("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
        )
        return tuple(found.one())


def test_writer_waits_by_kind_of_work(engine: Engine, database: Database) -> None:
    with writing(database.engine):
        began = time.monotonic()
        with pytest.raises(OperationalError), writing(engine):
            pass
        assert time.monotonic() - began < 1.5
    with writing(engine):
        pass  # the connection is as good as new


@pytest.mark.postgresql_alone  # SQLite has no such settings
def test_each_kind_has_its_limits_on_postgresql(database_url: str) -> None:
    app = create_app(make_settings(database_url))  # no command has changed its limits
    database = part_of(app, Database)
    assert settings(database.reads) == ("2s", "5s")
    assert settings(database.engine) == ("2s", "20s")
    assert settings(database.feed) == ("20s", "1min")
    with writing(database.feed) as connection:
        inside = connection.scalar(text("SELECT current_setting('statement_timeout')"))
    assert inside == "80s"  # the wait for the lock is part of the first statement
    assert settings(database.feed) == ("20s", "1min")
    with app.app_context():
        close_connections()


@pytest.mark.postgresql_alone  # SQLite has no such limit
def test_slow_statement_is_ended(engine: Engine) -> None:
    with reading(engine) as connection, pytest.raises(OperationalError, match="statement timeout"):
        connection.execute(text("SELECT pg_sleep(5)"))


def test_commands_have_long_timeouts(database: Database) -> None:
    before = [
        (engine, engine.get_execution_options())
        for engine in (database.engine, database.reads, database.feed)
    ]
    database.work_as_command()
    for engine, options in before:
        assert engine.get_execution_options()["gateway_timeouts"] == COMMAND
        set_timeouts(engine, options["gateway_timeouts"])
    assert PUBLIC.statement < FEED.statement


@pytest.mark.postgresql_alone
def test_migration_uses_no_parallel_workers(database_url: str) -> None:
    for timeouts, helpers in ((MIGRATION, "0"), (CONSOLE, "2")):
        engine = create_engine(database_url)
        prepare(engine, timeouts)
        with engine.connect() as connection:
            for name in ("max_parallel_maintenance_workers", "max_parallel_workers_per_gather"):
                assert connection.scalar(text(f"SHOW {name}")) == helpers
        engine.dispose()


def test_abandoned_connections_are_closed() -> None:
    """At once: a server that comes back would wait for each, and can shut down only after them."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        refused = socket.create_server(("127.0.0.1", 0))
        closed = refused.getsockname()[1]
        refused.close()
        url = f"postgresql+psycopg://u@/d?host=127.0.0.1,127.0.0.1&port={closed},{port}&connect_timeout=2"
        engine = create_engine(url, poolclass=NullPool)
        prepare(engine, HURRY)
        gc.disable()  # it would close them some day
        try:
            with pytest.raises(OperationalError, match="timeout expired"), engine.connect():
                pass
            ours, _ = silent.accept()
            with ours:
                ours.settimeout(1)
                while ours.recv(1024):
                    pass
        finally:
            gc.enable()
