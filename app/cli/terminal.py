"""Shared by all commands: printing, their actor, and the groups that need a migrated database."""

from __future__ import annotations

import logging
import os
import pwd
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
from flask.cli import AppGroup, ScriptInfo, with_appcontext

from app.accounts.services.proposals import ReasonMissing, SecondPersonNeeded
from app.audit.keys import AuditKeyUnusable
from app.audit.rules.records import Actor, Source
from app.db.complaints import is_operators, unusable
from app.db.database import Database
from app.db.pooler import pooler_complaint
from app.db.schema import database_complaint
from app.http.application import current, part_of
from app.values.times import rfc3339
from app.values.wire_values import printable


class Refusal(click.ClickException):
    """Ends a command with one line on standard error, and exit code 1."""

    def format_message(self) -> str:
        return printable(self.message)


def say(line: object, *, err: bool = False) -> None:
    """Print one line with any content: names, reasons and documents come from outside."""
    text = printable(str(line))
    try:
        click.echo(text, err=err)
    except UnicodeEncodeError as error:  # a terminal with another encoding: the command must not fail halfway
        click.echo(text.encode(error.encoding, "backslashreplace").decode(error.encoding), err=err)


def stop_signals() -> list[signal.Signals]:
    """The signals that end a long-running command: also that of a closed terminal, except under ``nohup``."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


def tell_stopped(log: logging.Logger) -> None:
    """Report that the command has ended: on a terminal in one word, otherwise in the log."""
    if sys.stderr.isatty():
        click.echo("\nstopped", err=True)
    else:
        log.info("ended")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, *([printable(text) for text in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def time(at: datetime | None) -> str:
    """A time in UTC to the second; ``-`` for none."""
    return rfc3339(at, "seconds") if at else "-"


def cli_actor() -> Actor:
    """The system's user of this process, as the audit log names it: ``cli:NAME``, or the user's number."""
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # a container may run as a user without a name
        name = str(number)
    return Actor(f"cli:{name}", Source.CLI)


break_glass = click.option(
    "--break-glass",
    metavar="REASON",
    help="Make a change without the second approval that TWO_PERSONS requires. The audit log stores REASON.",
)
"""Adds ``--break-glass REASON``, which comes as ``break_glass``."""


class OneLineCommand(click.Command):
    """A command that reports a fault of the database, the disk or a key in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AuditKeyUnusable as unusable_key:
            raise Refusal(f"{unusable_key}; nothing was changed") from None
        except (SecondPersonNeeded, ReasonMissing) as refused:
            raise Refusal(f"{refused}; nothing was changed") from None
        except OSError as error:
            if not is_operators(error):
                raise
            where = error.filename or "output"
            raise Refusal(f"{where}: {error.strerror}: correct that, and run the command again") from None
        except Exception as error:
            if not is_operators(error):
                raise
            database = part_of(ctx.ensure_object(ScriptInfo).load_app(), Database)
            raise Refusal(unusable(database.address, error)) from None


class OneLineGroup(OneLineCommand, AppGroup):
    """A group of commands that report such faults in one line."""


class _NeedsData(OneLineCommand):
    """Such a command that needs a migrated database."""

    def invoke(self, ctx: click.Context) -> Any:
        if self.needs_data(ctx):
            _check_for_command()
        return super().invoke(ctx)

    def needs_data(self, ctx: click.Context) -> bool:
        """Whether these arguments need the database."""
        return True


class DataGroup(_NeedsData, AppGroup):
    """Commands that need a migrated database."""


class CheckedCommand(_NeedsData):
    """A command outside of a group that needs a migrated database."""


@with_appcontext
def _check_for_command() -> None:
    current(Database).work_as_command()
    check_database(current(Database))


def check_database(database: Database) -> None:
    """Refuse a database that this version, or these settings, cannot use.

    :raises Refusal: with what to do.
    """
    if complaint := database_complaint(database) or pooler_complaint(database):
        raise Refusal(complaint)
