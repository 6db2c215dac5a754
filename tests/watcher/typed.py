"""``flask watch`` as it is typed."""

from __future__ import annotations

from click.testing import Result
from flask import Flask

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.document import import_within, read_document
from tests.applications import OpenApp
from tests.watcher.processes import document


def run(open_app: OpenApp, urls: dict[str, str], *options: str, **watching: object) -> Result:
    """What it printed with this environment, and chain 1 watched in this way."""
    app: Flask = open_app(rpc_urls=urls)
    with app.app_context():
        database = part_of(app, Database)
        with writing(database.engine) as connection:
            import_within(connection, read_document(document(**watching)), database.clock())
    return app.test_cli_runner().invoke(args=["watch", *options])
