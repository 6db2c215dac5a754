"""A real gunicorn with the sandbox, on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import create_app
from app.db.models import db
from tests.applications import make_settings
from tests.sandboxes import load_into
from tests.serving.migrated import sqlite_url
from tests.serving.server import Server, serving


@contextmanager
def serving_sandbox(folder: Path, template: Path, **settings: str) -> Iterator[Server]:
    """The server, ended with the block.

    :param template: a migrated, empty database, copied into the folder.
    :param settings: of the environment.
    """
    url = sqlite_url(folder, template)
    app = create_app(make_settings(url))
    with app.app_context():
        load_into(app)
        db.engine.dispose()
    with serving("wsgi:app", folder / "log", DATABASE_URL=url, **settings) as running:
        yield running
