"""Which version this is: ``flask --app wsgi version``."""

from __future__ import annotations

import click
from flask.cli import with_appcontext

from app.db.schema import newest_schema
from app.http.application import current
from app.release import Release


@click.command("version")
@with_appcontext
def version() -> None:
    """Say which release this is and which schema it is made for."""
    click.echo(f"{current(Release)}, schema {newest_schema()}")
