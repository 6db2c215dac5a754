"""``flask --app wsgi network …``: import and export of the network document."""

from __future__ import annotations

from typing import BinaryIO

import click

from app.cli.actor import cli_actor
from app.cli.break_glass import break_glass
from app.cli.group import DataGroup
from app.cli.text import say
from app.runtime.gateway import current_gateway
from app.services.network.document import NetworkRefused, export_network, import_network

network = DataGroup("network", help="What this gateway knows about chains, tokens, pools and prices.")


@network.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Tell what would change; change nothing.")
@break_glass
@click.pass_context
def import_(context: click.Context, file: BinaryIO, dry_run: bool, break_glass: str | None) -> None:
    """Make the network document in FILE (- for standard input) the whole configuration.

    All or nothing: a refused document changes nothing, tells every error on standard error after
    the JSON path it is about, and exits with 1. So does one that changes sections which TWO_PERSONS
    names, unless --break-glass says why.
    """
    gateway, document = current_gateway(), file.read()
    try:
        outcome = import_network(
            gateway, document, actor=cli_actor(), dry_run=dry_run, break_glass=break_glass
        )
    except NetworkRefused as refused:
        for error in refused.errors:
            say(error, err=True)
        context.exit(1)
    for change in outcome.changes:
        say(f"would {change}" if dry_run else change)
    if not outcome.changes:
        say("nothing would change" if dry_run else "nothing changed")
    if dry_run and outcome.guarded:
        say(f"this import would need --break-glass REASON: it changes {', '.join(outcome.guarded)}")


@network.command("export")
def export() -> None:
    """Write the whole configuration as a network document that imports without a change."""
    click.echo(export_network(current_gateway()), nl=False)
