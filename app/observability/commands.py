"""Which version this is: ``flask --app wsgi version``."""

from __future__ import annotations

import click
from flask.cli import with_appcontext

from app.gateway import current_gateway
from app.observability.readiness import newest_schema


@click.command("version")
@with_appcontext
def version() -> None:
    """Say which release this is and which schema it is made for."""
    click.echo(f"{current_gateway().release}, schema {newest_schema()}")
