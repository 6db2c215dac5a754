"""Which version this is: ``flask --app wsgi version``."""

from __future__ import annotations

import click
from flask.cli import with_appcontext

from app.runtime.gateway import current_gateway
from app.runtime.readiness import migration_heads


@click.command("version")
@with_appcontext
def version() -> None:
    """Say which release this is and which schema it is made for."""
    click.echo(f"{current_gateway().release}, schema {', '.join(sorted(migration_heads()))}")
