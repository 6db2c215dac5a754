"""``flask --app wsgi backfill``: fill what a migration added, beside everything else."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.group import CheckedCommand
from app.domain.amounts import grouped
from app.runtime.gateway import current_gateway
from app.services.backfills.run import PAUSE_SECONDS, ROWS, known_backfills, progress_of, run_backfill
from app.services.feed.grown import NoEventLog
from app.terminal import Refusal, say
from app.terminal import time as as_text

SAY_SECONDS = 10.0


@click.command("backfill", cls=CheckedCommand)
@click.option("--status", is_flag=True, help="Only say how far each is.")
@click.option("--again", is_flag=True, help="Begin anew, also those that have ended.")
@click.option("--rows", default=ROWS, show_default=True, type=click.IntRange(1), help="Rows of a range.")
@click.option(
    "--pause",
    default=PAUSE_SECONDS,
    show_default=True,
    type=click.FloatRange(0, 60),
    help="Seconds between two ranges.",
)
@with_appcontext
def backfill(status: bool, again: bool, rows: int, pause: float) -> None:
    """Fill what migrations added, once every process runs this version. Everything goes on meanwhile.

    It may be ended at any time and goes on there when it is run again.
    """
    gateway = current_gateway()
    before = progress_of(gateway)
    for each in known_backfills():
        if status:
            say(f"{each.name}: {_words(before.get(each.name))} ({each.about})")
            continue
        told = time.monotonic()

        def tell(progress: Any, name: str = each.name) -> None:
            nonlocal told
            if time.monotonic() - told > SAY_SECONDS or sys.stderr.isatty():
                told = time.monotonic()
                say(f"{name}: {_words(progress)}", err=True)

        try:
            done = run_backfill(gateway, each, rows=rows, pause_seconds=pause, again=again, progress=tell)
        except NoEventLog as refused:
            raise Refusal(str(refused)) from None
        say(f"{each.name}: {_words(done)}")


def _words(progress: Any) -> str:
    if progress is None:
        return "not begun"
    counts = f"{grouped(progress.looked_at)} rows looked at, {grouped(progress.changed)} filled"
    if progress.ended_at is None:
        return f"{counts}, to {progress.done_to.hex()[:12]}…"
    return f"ended at {as_text(progress.ended_at)}: {counts}"
