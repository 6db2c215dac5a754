"""``flask --app wsgi events …`` and ``backfill``: the event feed and its log on the command line."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO

import click
import orjson
from flask.cli import with_appcontext

from app.audit.keys import AuditKeys
from app.cli.terminal import CheckedCommand, DataGroup, Refusal, cli_actor, say
from app.cli.terminal import time as as_text
from app.credentials.rules.ingest_token import FROM_FILES
from app.db.database import Database
from app.db.schema import database_complaint
from app.db.second_schema import NoSecondSchema, in_words
from app.feed.lines import lines_of
from app.feed.services.backfills import (
    PAUSE_SECONDS,
    ROWS,
    known_backfills,
    progress_of,
    reopen,
    run_backfill,
)
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.log import NoEventLog, export_log, grown_complaint
from app.feed.services.prune import Pruning, count_candidates, count_pruned, prune
from app.feed.services.reprojection import StillDiffers, replay
from app.feed.services.retract import NothingToRetract, retract_ids, retract_reporter
from app.feed.verifying.comparing import Difference
from app.feed.verifying.projecting import room_needed
from app.feed.verifying.run import about_how_many, verify
from app.http.application import current
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.transfers.rules.events.keys import subject_of_chain, subject_of_route, subject_of_transfer
from app.values.amounts import grouped
from app.values.identifiers import ChainId, RouteKey
from app.values.json_values import read_time
from app.values.wire_values import parse_transfer_id


class LogGroup(DataGroup):
    """Commands that need the event log: they fail where transfers were generated without one."""

    def invoke(self, ctx: click.Context) -> Any:
        _require_log()
        return super().invoke(ctx)


@with_appcontext
def _require_log() -> None:
    database = current(Database)
    if database_complaint(database) is None and (complaint := grown_complaint(database)):
        raise Refusal(complaint)


events = LogGroup("events", help="The event feed and its log.")


@contextmanager
def _progress(length: int, label: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, and a function that sets its position; no bar without a length."""
    if not length or not sys.stderr.isatty():
        yield lambda _position: None
        return
    bar: Any
    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield lambda position: bar.update(position - bar.pos)


@events.command("ingest")
@click.argument("file", type=click.File("rb"))
@click.pass_context
def ingest(context: click.Context, file: BinaryIO) -> None:
    """Ingest events from FILE (- for standard input), one JSON object per line.

    Prints the result as JSON. Exits with 0 if the gateway accepted every event, otherwise with 2. You can
    ingest a file again.
    """
    size = 0 if file is sys.stdin.buffer else os.fstat(file.fileno()).st_size
    with _progress(size, "events") as advance_to:

        def advance(_lines: int) -> None:
            advance_to(file.tell() if size else 0)

        lines = lines_of(file)
        verdict = ingest_lines(current(Database), current(Intake), lines, FROM_FILES, advance, EVENT_CLASSES)
    click.echo(orjson.dumps(verdict.as_json()))
    context.exit(2 if verdict.refused else 0)


@events.command("export")
def export() -> None:
    """Write the whole event log to standard output, in its order, one JSON object per line."""
    database = current(Database)
    if pruned := count_pruned(database):
        click.echo(
            f"note: this export does not contain {grouped(pruned)} pruned transfers, nor the pool amounts "
            "that they moved. A database that you restore from it does not know their ids. A backup does.",
            err=True,
        )
    for line in export_log(database):
        click.echo(line, nl=False)


@events.command("replay")
def replay_log() -> None:
    """Project the event log again, and repair what differs from it.

    Prints each row that differed. The gateway keeps running meanwhile. You can start an interrupted run
    again.
    """
    database = current(Database)
    audit_keys = current(AuditKeys)
    differed = _Differed()
    try:
        with _beside(database) as advance:
            count = replay(database, audit_keys, advance, actor=cli_actor(), found=differed)
    except StillDiffers as complaint:
        raise Refusal(str(complaint)) from None
    if differed.rows:
        say(f"repaired: {grouped(differed.rows)} rows that differed from the log")
    say(f"replayed: {count} transfers")


@events.command("verify")
@click.pass_context
def verify_log(context: click.Context) -> None:
    """Project the event log again, compare it with all derived data, and change nothing.

    Prints each row that differs. Exits with 0 if no row differs, otherwise with 1. The gateway keeps running
    meanwhile. `events replay` repairs the rows.
    """
    database = current(Database)
    differed = _Differed()
    with _beside(database) as advance:
        count = verify(database, differed, advance)
    say(f"verified: {count} transfers, {grouped(differed.rows)} rows differ from the log")
    context.exit(1 if differed.rows else 0)


@contextmanager
def _beside(database: Database) -> Iterator[Callable[[int], None]]:
    """Say how much disk is needed, and show the progress."""
    try:
        room = room_needed(database)
        free = "" if room.free is None else f", {in_words(room.free)} are free"
        say(f"this needs up to {in_words(room.needed)} on the database's disk until it ends{free}", err=True)
        with _transfers(about_how_many(database)) as advance:
            yield advance
    except NoSecondSchema as complaint:
        raise Refusal(str(complaint)) from None


class _Differed:
    """Prints what differs, and counts it."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, difference: Difference) -> None:
        self.rows += 1
        say(difference)


@contextmanager
def _transfers(length: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal: yields a function to call with the number of further transfers done."""
    done = 0
    with _progress(length, "transfers") as advance_to:

        def advance(transfers: int) -> None:
            nonlocal done
            done += transfers
            advance_to(done)

        yield advance


@events.command("retract")
@click.option("--id", "event_ids", multiple=True, help="Id of an event to retract. May be repeated.")
@click.option("--transfer", help="With --id: the transfer that the events are about, 32 bytes in hex.")
@click.option("--chain", type=int, help="With --id: the chain that the events are about.")
@click.option("--route", help="With --id: the route that the events are about, as SYMBOL:SOURCE:DESTINATION.")
@click.option("--token", help="Retract all events that this token reported (with --since).")
@click.option(
    "--since",
    help="With --token: only events received from this time on (RFC 3339, such as 2026-01-31T12:00:00Z).",
)
@click.option("--reason", required=True, help="The reason, which the log stores.")
def retract(
    event_ids: tuple[str, ...], token: str | None, since: str | None, reason: str, **about: Any
) -> None:
    """Retract events, as a reorganisation would. Prints the ids of the retractions: retract them to undo it.

    If several events about different objects have the same id, choose one with --transfer, --chain or
    --route.
    """
    if bool(event_ids) == bool(token) or bool(token) != bool(since):
        raise click.UsageError("use either --id, or --token with --since")
    subject = _subject(**about)
    if subject and not event_ids:
        raise click.UsageError("--transfer, --chain and --route can be used with --id only; leave them out")
    database = current(Database)
    audit_keys = current(AuditKeys)
    try:
        if token and since:
            ids = retract_reporter(
                database, audit_keys, token, _time(since, "--since"), reason, actor=cli_actor()
            )
        else:
            ids = retract_ids(database, audit_keys, event_ids, reason, actor=cli_actor(), subject=subject)
    except NothingToRetract as nothing:
        raise Refusal(str(nothing)) from None
    for event_id in ids:
        say(event_id)


def _subject(transfer: str | None, chain: int | None, route: str | None) -> str | None:
    """What the events are about, as the options say; None where none does."""
    given = [option for option in (transfer, chain, route) if option is not None]
    if len(given) > 1:
        raise click.UsageError("use only one of --transfer, --chain and --route")
    if transfer is not None:
        try:
            return subject_of_transfer(parse_transfer_id(transfer))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--transfer") from None
    if chain is not None:
        return subject_of_chain(chain)
    return _route(route) if route is not None else None


def _route(text: str) -> str:
    symbol, *chains = text.rsplit(":", 2)
    if len(chains) != 2 or not symbol or not all(re.fullmatch("[0-9]{1,10}", chain) for chain in chains):
        raise click.BadParameter("must be SYMBOL:SOURCE:DESTINATION, such as USDT:1:56", param_hint="--route")
    src, dst = (ChainId(int(chain)) for chain in chains)
    return subject_of_route(RouteKey(symbol, src, dst))


@events.command("prune")
@click.option("--before", required=True, help="RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
def prune_log(before: str, dry_run: bool) -> None:
    """Remove finished transfers whose last event is older than a time, with all their events.

    The gateway keeps running meanwhile. You can start an interrupted run again. The pools still count the
    amounts that the transfers moved. The gateway refuses later events about them.
    """
    database = current(Database)
    audit_keys = current(AuditKeys)
    intake = current(Intake)
    time = _time(before, "--before")
    with _transfers(count_candidates(database, time)) as advance:
        found = prune(
            database, audit_keys, intake, time, actor=cli_actor(), dry_run=dry_run, progress=advance
        )
    for line in _pruning_in_words(found, time, dry_run):
        say(line)


def _pruning_in_words(found: Pruning, requested: datetime, dry_run: bool) -> Iterator[str]:
    if found.before < requested:
        yield (
            f"transfers since {found.before.isoformat()} are not pruned: answers need them (latencies of 7 "
            "days, current epochs of pools)"
        )
    total = sum(found.transfers.values())
    done = "would prune" if dry_run else "pruned"
    yield f"{done}: {grouped(total)} transfers with {grouped(found.events)} events"
    if found.oldest and found.newest:
        yield f"  from {found.oldest.isoformat()} to {found.newest.isoformat()}"
    for status, count in sorted(found.transfers.items()):
        yield f"  {grouped(count)} {status.name.removeprefix('TRANSFER_').lower()}"
    for (chain_id, symbol), moved in sorted(found.moved.items()):
        sums = f"sent {moved.sent}, relayed {moved.relayed}"
        yield f"  pool {symbol} on chain {chain_id} still counts their amounts: {sums}"
    for kind, count in sorted(found.others.items()):
        yield f"  {grouped(count)} events about {kind} that no longer change an answer"
    for reason, count in sorted(found.retained.items()):
        yield f"not pruned, although finished and old: {grouped(count)} ({reason})"


def _time(text: str, option: str) -> datetime:
    try:
        return read_time(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


SAY_SECONDS = 10.0


@click.command("backfill", cls=CheckedCommand)
@click.option("--status", is_flag=True, help="Print how far each backfill is, and change nothing.")
@click.option(
    "--again", is_flag=True, help="Start each backfill from its beginning, including those that have ended."
)
@click.option(
    "--reopen",
    "reopens",
    is_flag=True,
    help="Mark all backfills as not done, before you go back to an older version.",
)
@click.option(
    "--rows",
    default=ROWS,
    show_default=True,
    type=click.IntRange(1),
    help="Number of rows that one transaction fills.",
)
@click.option(
    "--pause",
    default=PAUSE_SECONDS,
    show_default=True,
    type=click.FloatRange(0, 60),
    help="Seconds between two transactions.",
)
@with_appcontext
def backfill(status: bool, again: bool, reopens: bool, rows: int, pause: float) -> None:
    """Fill what migrations added. Run it once every process runs this version.

    The gateway keeps running meanwhile. You can stop the command at any time: the next run continues where
    it stopped.
    """
    database = current(Database)
    if reopens:
        reopen(database)
        say("the next backfill fills everything again")
        return
    before = progress_of(database)
    if not known_backfills():
        say("this version has no backfills")
    for each in known_backfills():
        if status:
            say(f"{each.name}: {_words(before.get(each.name))} ({each.about})")
            continue
        reported_at = time.monotonic()

        def report(progress: Any, name: str = each.name) -> None:
            nonlocal reported_at
            if time.monotonic() - reported_at > SAY_SECONDS or sys.stderr.isatty():
                reported_at = time.monotonic()
                say(f"{name}: {_words(progress)}", err=True)

        try:
            done = run_backfill(database, each, rows=rows, pause_seconds=pause, again=again, progress=report)
        except NoEventLog as refused:
            raise Refusal(str(refused)) from None
        say(f"{each.name}: {_words(done)}")


def _words(progress: Any) -> str:
    if progress is None:
        return "not begun"
    counts = f"{grouped(progress.looked_at)} rows read, {grouped(progress.changed)} filled"
    if progress.ended_at is None:
        return f"{counts}, to {progress.done_to.hex()[:12]}…"
    return f"ended at {as_text(progress.ended_at)}: {counts}"
