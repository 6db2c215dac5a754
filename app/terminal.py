"""How commands print, whichever door they are of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from app.domain.times import rfc3339
from app.domain.wire_values import printable


class Refusal(click.ClickException):
    """Ends a command with one line on standard error, and exit code 1."""

    def format_message(self) -> str:
        return printable(self.message)


def say(line: object, *, err: bool = False) -> None:
    """Print one line, whatever is in it: names, reasons and documents come from outside."""
    text = printable(str(line))
    try:
        click.echo(text, err=err)
    except UnicodeEncodeError as error:  # a terminal of another encoding: what was begun must not end there
        click.echo(text.encode(error.encoding, "backslashreplace").decode(error.encoding), err=err)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text with columns as wide as their longest cell."""
    lines = [head, *([printable(text) for text in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def time(at: datetime | None) -> str:
    """A time in UTC to the second; ``-`` for none."""
    return rfc3339(at, "seconds") if at else "-"
