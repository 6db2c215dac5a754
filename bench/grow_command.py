"""``sandbox grow``: fills an empty database with made-up transfers to measure on."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
from flask.cli import with_appcontext

from app.audit.keys import AuditKeys
from app.cli.terminal import cli_actor
from app.db.database import Database
from app.http.application import current
from app.sandbox.services import SandboxRefused
from bench.grow import grow
from bench.synthetic_transfers import SyntheticTransfers


@click.command("grow")
@click.option("--transfers", required=True, type=click.IntRange(1), help="How many.")
@click.option("--days", default=7.0, show_default=True, type=click.FloatRange(1), help="Over how many days.")
@click.option(
    "--pair-share",
    default=0.2,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of the first pair of chains, Ethereum to BNB Chain.",
)
@with_appcontext
def grow_transfers(transfers: int, days: float, pair_share: float) -> None:
    """Fill an empty database with made-up transfers, to measure on. They have no events, so there is no log.

    They are as if they had been fed, ended an hour ago, and are the same every time.
    """
    started = time.monotonic()
    bar: Any
    with click.progressbar(
        length=transfers, label="transfers", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        try:
            grown = SyntheticTransfers(transfers, current(Database).clock(), days, pair_share)
            grow(current(Database), current(AuditKeys), grown, actor=cli_actor(), progress=bar.update)
        except SandboxRefused as refused:
            raise click.ClickException(str(refused)) from None
    seconds = time.monotonic() - started
    click.echo(f"grown: {transfers:,} transfers in {seconds:,.0f} s ({transfers / seconds:,.0f} a second)")
