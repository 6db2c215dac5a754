"""``flask --app wsgi network …``: import and export of the network document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import BinaryIO, Final

import click
from flask.cli import AppGroup

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.audit.previews import TriedRoute
from app.cli.terminal import CheckedCommand, break_glass, cli_actor, say
from app.db.database import Database
from app.http.application import current
from app.network.document import ImportResult, NetworkRefused, export_network, import_network, written
from app.network.edits.plan import NAMED
from app.network.edits.refusals import counted
from app.network.edits.route_changes import LISTED
from app.network.from_configs import UNKNOWN, document_from_configs

network = AppGroup("network", help="The network document: chains, tokens, pools, routes and fees.")


class _Import(CheckedCommand):
    def needs_data(self, ctx: click.Context) -> bool:
        """A document that is only made and printed needs no database."""
        return not ctx.params["print_only"]


@network.command("import", cls=_Import)
@click.argument("file", type=click.File("rb"), required=False)
@click.option(
    "--from-configs", type=click.File("rb"), metavar="FILE",
    help="Import an answer of getTransferConfigsForAll of another gateway. This "
    "gateway must have no configuration yet.",
)  # fmt: skip
@click.option(
    "--print",
    "print_only",
    is_flag=True,
    help="With --from-configs: print the document, and import nothing. No database is needed.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@break_glass
@click.pass_context
def import_(
    context: click.Context,
    *,
    file: BinaryIO | None,
    from_configs: BinaryIO | None,
    print_only: bool,
    dry_run: bool,
    break_glass: str | None,
) -> None:
    """Replace the whole configuration by the network document in FILE (- for standard input).

    A refused document changes nothing. The command prints each error with its JSON path on standard error,
    and exits with 1. It also refuses changes that need a second approval (TWO_PERSONS), unless --break-glass
    gives a reason.
    """
    if (file is None) == (from_configs is None):
        raise click.UsageError("give a FILE with a network document, or --from-configs FILE")
    if print_only and from_configs is None:
        raise click.UsageError("--print can be used with --from-configs only; leave it out")
    try:
        document = file.read() if file is not None else _from_configs(from_configs)
        if print_only:
            click.echo(document, nl=False)
            return
        outcome = import_network(
            current(Database), current(AuditKeys), current(TwoPersons), document,
            actor=cli_actor(), dry_run=dry_run, break_glass=break_glass,
            only_first=from_configs is not None,
        )  # fmt: skip
    except NetworkRefused as refused:
        for error in refused.errors:
            say(error, err=True)
        context.exit(1)
    _say_outcome(outcome, dry_run=dry_run)


def _say_outcome(outcome: ImportResult, *, dry_run: bool) -> None:
    """Print what changed, or would change, and whether that would need a second person."""
    _say_trials(outcome.trials)
    for change in outcome.changes:
        say(f"would {change}" if dry_run else _made(change))
    if not outcome.changes:
        say("nothing would change" if dry_run else "nothing changed")
    if dry_run and outcome.guarded:
        say(
            "this import would need a second approval or --break-glass REASON: "
            f"it changes {', '.join(outcome.guarded)}"
        )


def _say_trials(trials: Sequence[TriedRoute]) -> None:
    """Print the trial estimates of routes on standard error: every warning, and the first of the others."""
    others = [each for each in trials if not each.refused and not each.warnings]
    for route in (*(each for each in trials if each.warnings), *others[:LISTED]):
        say(f"{'HIGH IMPACT: ' if route.high_impact else ''}trial estimate of {route.name}", err=True)
        for figures in route.figures:
            before = f", before: {figures.before}" if figures.before else ""
            say(f"- {figures.sent} → {figures.after or 'refused'}{before}", err=True)
        for warning in route.warnings:
            say(f"- {warning}", err=True)
    if len(others) > LISTED:
        say(f"and {counted(len(others) - LISTED, 'more trial estimate')} with a rate near 1", err=True)
    refused = Counter(each.refused for each in trials if each.refused)
    for check, number in refused.items():
        say(f"no amount passes the check “{check}” on {counted(number, 'route')}", err=True)
        names = [each.name for each in trials if each.refused == check]
        say(f"- {', '.join(names[:NAMED])}{', …' if number > NAMED else ''}", err=True)


_PAST: Final = {"add": "added", "change": "changed", "remove": "removed"}


def _made(change: str) -> str:
    """The sentence of a change once it was made: ``added chain 1`` for ``add chain 1``."""
    verb, rest = change.split(" ", 1)
    return f"{_PAST[verb]} {rest}"


def _from_configs(file: BinaryIO | None) -> bytes:
    """The document of an answer. Standard error has what it cannot know, and what is answered differently."""
    made = document_from_configs(file.read() if file is not None else b"")
    for line in UNKNOWN:
        click.echo(line, err=True)
    if made.different:
        click.echo(f"{len(made.different)} values differ in the answers of this gateway:", err=True)
    for line in made.different:
        click.echo(f"- {line}", err=True)
    return written(made.document)


@network.command("export", cls=CheckedCommand)
def export() -> None:
    """Print the whole configuration as a network document. Importing it changes nothing."""
    click.echo(export_network(current(Database)), nl=False)
