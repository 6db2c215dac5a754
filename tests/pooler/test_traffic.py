"""Every interface at once through PgBouncer: the answers are those of one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import current, part_of
from config import ALL_DOORS
from tests.amounts import few_or_many
from tests.applications import application, cheap_passwords, close_connections, make_settings
from tests.console.visitor import add_account
from tests.faults.reporters import Events
from tests.faults.story import story
from tests.feed.services.world import NOW, feed, projections, write_network
from tests.pooler.bouncer import Bouncer
from tests.pooler.traffic import interleave
from tests.serving.migrated import sqlite_url

pytestmark = pytest.mark.system


@pytest.fixture(scope="module", params=few_or_many(50, 2_000))
def reported(request: pytest.FixtureRequest) -> Events:
    return story(request.param)


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_passwords(monkeypatch)


@pytest.fixture(scope="module")
def undisturbed(reported: Events, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    """What one process makes of the same events."""
    url = sqlite_url(tmp_path_factory.mktemp("undisturbed"), sqlite_template)
    with application(url, lambda: NOW) as app:
        write_network(part_of(app, Database).engine)
        assert feed(app, *reported).refused == []
        return state()


def state() -> object:
    with reading(current(Database).engine) as connection:
        return projections(connection)


@pytest.fixture
def migrated(bouncer: Bouncer, database: str) -> str:
    """The URL through the pooler, through which the database was migrated and filled, too."""
    url = bouncer.url(database)
    with application(url, database_pooler=True, doors=ALL_DOORS) as app:
        upgrade(directory="migrations")
        write_network(part_of(app, Database).engine)
        add_account(app, Role.ADMIN)
    return url


def serving(url: str, *, pooled: bool) -> Iterator[Flask]:
    app = create_app(make_settings(url, doors=ALL_DOORS, database_pooler=pooled), clock=lambda: NOW)
    yield app
    with app.app_context():
        close_connections()


@pytest.fixture
def knowing(migrated: str) -> Iterator[Flask]:
    yield from serving(migrated, pooled=True)


@pytest.fixture
def unknowing(migrated: str) -> Iterator[Flask]:
    yield from serving(migrated, pooled=False)


def test_twenty_clients_at_once(knowing: Flask, reported: Events, undisturbed: object) -> None:
    seen = interleave(knowing, reported)
    assert (seen.bad, seen.faults) == ({}, [])
    assert {"feed 200", "public 200", "console 200", "watcher 200"} <= seen.answers.keys()
    assert +seen.taken == {"accepted": len(reported)}, "the one writer took an event twice, or lost one"
    assert [lease.epoch for lease in seen.leases] == [1], "one watcher at a time"
    with knowing.app_context():
        assert state() == undisturbed


def test_undeclared_pooler_breaks_statements(unknowing: Flask, caplog: pytest.LogCaptureFixture) -> None:
    seen = interleave(unknowing, story(50))
    assert seen.bad
    complaints = caplog.text + "".join(map(str, seen.faults))
    assert "prepared statement" in complaints
    assert "does not exist" in complaints or "already exists" in complaints


def test_limits_end_with_the_transaction(knowing: Flask) -> None:
    """What a transaction of the feed sets ends with it: the same process then has the role's limits."""
    database = part_of(knowing, Database)
    query = "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'), pg_backend_pid()"
    with database.feed.connect() as connection, connection.begin():
        *limits, process = connection.exec_driver_sql(query).one()
        assert limits == ["20s", "1min"]
    for engine in (database.feed, database.reads, database.engine):
        with reading(engine) as connection:
            assert list(connection.exec_driver_sql(query).one()) == ["2s", "20s", process]
    with writing(database.feed) as connection:  # its first statement waits for the lock, too: 60 s + 20 s
        assert list(connection.exec_driver_sql(query).one()) == ["20s", "80s", process]
