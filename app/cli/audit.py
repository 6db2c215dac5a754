"""``flask --app wsgi audit …``: who changed what, and whether the log is intact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TextIO, TypeVar

import click

from app.cli.group import DataGroup
from app.domain.difference import difference
from app.domain.times import rfc3339
from app.runtime.gateway import current_gateway
from app.runtime.log_lines import audit_heads
from app.services.audit.log import AuditFilter, export_audit, list_audit, show_audit, verify_audit
from app.services.fields import read_time
from app.terminal import Refusal, say

_HEAD: Final = re.compile(r"([0-9]{1,18}):([0-9a-fA-F]{64})", re.ASCII)

F = TypeVar("F", bound=Callable[..., Any])

audit = DataGroup("audit", help="What operators did: who, when, from where, before and after.")


def _heads(heads: Iterable[str]) -> dict[int, bytes]:
    noted: dict[int, bytes] = {}
    for head in heads:
        match = _HEAD.fullmatch(head)
        if match is None:
            raise click.BadParameter("must be ID:MAC as 'audit verify' printed it, the MAC in 64 hex digits")
        record_id, mac = int(match[1]), bytes.fromhex(match[2])
        if noted.setdefault(record_id, mac) != mac:
            raise click.BadParameter(f"two heads of record {record_id} were noted, and they differ")
    return noted


def _logged(_context: click.Context, _option: click.Parameter, files: Sequence[TextIO]) -> list[str]:
    heads = [head for file in files for head in audit_heads(file)]
    if files and not heads:
        raise click.BadParameter("has no line in which the gateway logged the head of an audit record")
    return heads


def _time(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _filters(command: F) -> F:
    """The options that choose records."""
    for option in (
        click.option("--since", callback=_time, help="RFC 3339, such as 2026-01-31T12:00:00Z."),
        click.option("--action", help="Such as network.edit, or network for all of that kind."),
        click.option("--subject", help="Part of what was changed, such as USDC or 'chain 56'."),
        click.option("--actor", help="Part of an account's email, or of cli:NAME."),
    ):
        command = option(command)
    return command


@audit.command("verify")
@click.option("--head", "heads", multiple=True, metavar="ID:MAC", help="One noted earlier.")
@click.option(
    "--log",
    "logged",
    multiple=True,
    callback=_logged,
    type=click.File("r", encoding="utf-8", errors="replace"),
    help="The gateway's log (- for standard input): every head in it.",
)
def verify(heads: tuple[str, ...], logged: list[str]) -> None:
    """Follow the chain of records from the first to the last. Exits with 1 at the first broken link.

    Prints the last record as ID:MAC. Note it outside the database (the server's log has it, too) and
    give it to --head later, or the log to --log: only so it shows when records were cut off at the end.
    """
    found = verify_audit(current_gateway(), _heads([*heads, *logged]))
    if found.fault is not None:
        raise Refusal(f"{found.fault} (good up to {found.head})")
    say(f"{found.count} records hold; head {found.head}")


@audit.command("list")
@_filters
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_(
    actor: str | None, subject: str | None, action: str | None, since: datetime | None, limit: int
) -> None:
    """List the newest records, newest first."""
    wanted = AuditFilter(actor, action, subject, since)
    for row in list_audit(current_gateway(), wanted, limit=limit):
        say(f"{row.id}  {_shown(row.at)}  {row.actor}  {row.action}  {row.detail or row.subject}")


@audit.command("show")
@click.argument("record_id", metavar="ID", type=click.IntRange(1, (1 << 63) - 1))
def show(record_id: int) -> None:
    """Show one record and what it changed, field by field."""
    entry = show_audit(current_gateway(), record_id)
    if entry is None:
        raise Refusal(f"there is no record {record_id}")
    row = entry.record
    origin = f"{row.source}, {row.address}" if row.address else row.source
    say(f"{row.id}  {_shown(row.at)}  {row.actor} ({origin})  {row.action}  {row.subject}")
    if row.detail:
        say(row.detail)
    for change in entry.changes:
        action = "added" if change.before is None else "removed" if change.after is None else "changed"
        say(f"{action} {change.subject}")
        for line in difference(change.before, change.after):
            say(f"  {line}")


@audit.command("export")
@_filters
def export(actor: str | None, subject: str | None, action: str | None, since: datetime | None) -> None:
    """Write the records to standard output, oldest first, one JSON object a line."""
    for line in export_audit(current_gateway(), AuditFilter(actor, action, subject, since)):
        click.echo(line, nl=False)


def _shown(at: datetime) -> str:
    return rfc3339(at, "seconds")
