"""``flask --app wsgi events …``: the feed, by hand."""

from __future__ import annotations

import os
import sys
from typing import Any, BinaryIO

import click
import orjson
from flask.cli import AppGroup

from app.services.feed.ingest import ingest_lines
from app.services.feed.lines import lines_of
from app.services.gateway import current_gateway

REPORTER = "cli"

events = AppGroup("events", help="The event feed and its log.")


@events.command("ingest")
@click.argument("file", type=click.File("rb"))
@click.pass_context
def ingest(context: click.Context, file: BinaryIO) -> None:
    """Take events from FILE (- for standard input), one JSON object a line.

    Prints the verdict as JSON. Exits with 0 if nothing was refused, else with 2. Repeating a
    file is harmless.
    """
    size = os.fstat(file.fileno()).st_size if file is not sys.stdin.buffer else 0
    bar: Any
    with click.progressbar(length=size or None, label="events", file=sys.stderr) as bar:
        taken = 0

        def advance(_lines: int) -> None:
            nonlocal taken
            if size:
                position = file.tell()
                bar.update(position - taken)
                taken = position

        verdict = ingest_lines(current_gateway(), lines_of(file), REPORTER, advance)
    click.echo(orjson.dumps(verdict.as_json()))
    context.exit(2 if verdict.refused else 0)
