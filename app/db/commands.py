"""Commands of ``flask --app wsgi``: ``backup`` copies the embedded database, ``version`` says what runs."""

from __future__ import annotations

from pathlib import Path

import click
from flask.cli import with_appcontext

from app.db.backup import BackupRefused, back_up
from app.db.database import Database
from app.db.schema import newest_schema
from app.http.application import current
from app.release import Release
from app.terminal import Refusal, say


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@with_appcontext
def backup(file: Path) -> None:
    """Write a copy of the SQLite database to FILE, while the gateway runs.

    FILE must not exist yet. It is checked before it gets its name, and readable by its owner alone. The keys
    (SECRET_KEY, AUDIT_KEY) are not in it: keep them elsewhere.
    """
    try:
        made = back_up(current(Database).engine.url, file)
    except BackupRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"{file}: {made.size} bytes, revision {made.revision}, integrity checked")


@click.command("version")
@with_appcontext
def version() -> None:
    """Say which release this is and which schema it is made for."""
    click.echo(f"{current(Release)}, schema {newest_schema()}")
