"""``flask --app wsgi audit …``: who changed what, and whether the log is intact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import click
import orjson

from app.audit.keys import AuditKeys
from app.audit.rules.records import HEADS_LOGGER, AuditFilter, RecordUnreadable
from app.audit.services import ArchivedMeanwhile, export_audit, list_audit, show_audit
from app.audit.verification import ArchiveRefused, archive_audit, verify_audit
from app.cli.terminal import DataGroup, Refusal, cli_actor, say
from app.db.database import Database
from app.http.application import current
from app.values.differences import difference
from app.values.json_values import read_time
from app.values.times import rfc3339

_HEAD: Final = re.compile(r"([0-9]{1,18}):([0-9a-fA-F]{64})", re.ASCII)
_SAYS: Final = r"audit head (\d{1,18}:[0-9a-f]{64})"
_MESSAGE: Final = re.compile(rf"{_SAYS} .*", re.ASCII)
_LINE: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{{4}} INFO \d+ {re.escape(HEADS_LOGGER)}: {_SAYS} .*", re.ASCII
)
_NOTED: Final = re.compile(rf"(?:[0-9T:.-]+Z|.*\btransfer-gateway\[\d+\]:) {_SAYS}", re.ASCII)

F = TypeVar("F", bound=Callable[..., Any])

audit = DataGroup(
    "audit", help="The audit log: who changed what, when and from where, with the values before and after."
)


def audit_heads(lines: Iterable[str]) -> Iterator[str]:
    """The heads ``ID:MAC`` in the process log, only from its entries about the audit log.

    :param lines: of a log in either format; both may be in one file.
    """
    for line in lines:
        text = line.rstrip("\r\n")
        match = _in_entry(text) if text.startswith("{") else _LINE.fullmatch(text)
        if match:
            yield match[1]


def _in_entry(text: str) -> re.Match[str] | None:
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    message = entry.get("message")
    if (entry.get("logger"), entry.get("level")) != (HEADS_LOGGER, "INFO") or not isinstance(message, str):
        return None
    return _MESSAGE.fullmatch(message)


def anchored_heads(lines: Iterable[str]) -> Iterator[str]:
    """The heads ``ID:MAC`` in a file of ``AUDIT_ANCHORS``, of a syslog or of bodies of webhooks, one a line.

    Other lines are skipped, also one that was cut off.
    """
    for line in lines:
        text = line.strip()
        if match := _NOTED.fullmatch(text):
            yield match[1]
        elif text.startswith("{"):
            with suppress(ValueError, TypeError, KeyError):
                event = orjson.loads(text)
                if event["type"] == "alert.audit_head":
                    yield str(event["data"]["detail"])


def _heads(heads: Iterable[str]) -> dict[int, bytes]:
    noted: dict[int, bytes] = {}
    for head in heads:
        match = _HEAD.fullmatch(head)
        if match is None:
            raise click.BadParameter(
                "must be ID:MAC as printed by 'audit verify', with a MAC of 64 hex digits"
            )
        record_id, mac = int(match[1]), bytes.fromhex(match[2])
        if noted.setdefault(record_id, mac) != mac:
            raise click.BadParameter(
                f"must not have two different heads for record {record_id}: leave one out"
            )
    return noted


def _logged(_context: click.Context, _option: click.Parameter, files: Sequence[TextIO]) -> list[str]:
    heads = [head for file in files for head in audit_heads(file)]
    if files and not heads:
        raise click.BadParameter("must contain at least one line with the head of an audit record")
    return heads


def _anchored(_context: click.Context, _option: click.Parameter, files: Sequence[TextIO]) -> list[str]:
    heads = [head for file in files for head in anchored_heads(file)]
    if files and not heads:
        raise click.BadParameter("must contain at least one noted head of an audit record")
    return heads


def _time(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _filters(command: F) -> F:
    for option in (
        click.option(
            "--since",
            callback=_time,
            help="Only records from this time on (RFC 3339, such as 2026-01-31T12:00:00Z).",
        ),
        click.option(
            "--action", help="An action such as network.edit, or network for all actions of that kind."
        ),
        click.option("--subject", help="Part of the name of the changed object, such as USDC or 'chain 56'."),
        click.option("--actor", help="Part of the email of the account, or of cli:NAME."),
    ):
        command = option(command)
    return command


@audit.command("verify")
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="ID:MAC",
    help="A head printed or logged earlier. May be repeated.",
)
@click.option(
    "--log",
    "logged",
    multiple=True,
    callback=_logged,
    type=click.File("r", encoding="utf-8", errors="replace"),
    help="Log file of the gateway (- for standard input): check every head in it.",
)
@click.option(
    "--anchors",
    "anchored",
    multiple=True,
    callback=_anchored,
    type=click.File("r", encoding="utf-8", errors="replace"),
    help="File of AUDIT_ANCHORS or of the syslog (- for standard input): check every head in it.",
)
@click.option(
    "--archive",
    "archives",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of 'audit archive': verify its records before those of the log. Give all, the oldest first.",
)
def verify(
    heads: tuple[str, ...], logged: list[str], anchored: list[str], archives: tuple[Path, ...]
) -> None:
    """Verify the integrity of the log from the first record to the last. Exits with 1 at the first fault.

    Prints the head, which is the last record as ID:MAC. Store it outside of the database, and give it to
    --head later. The server's log also has it (--log), and so does the file of AUDIT_ANCHORS (--anchors).
    Without one of them, the command cannot find out that somebody removed the last records.
    """
    noted = _heads([*heads, *logged, *anchored])
    found = verify_audit(current(Database), current(AuditKeys), noted, archives)
    if found.fault is not None:
        raise Refusal(f"{found.fault} (valid up to {found.head}); see docs/audit.md#broken")
    say(f"verified records: {found.count}; head {found.head}")
    if found.archived:
        say(f"records 1 to {found.archived} are archived: --archive verifies them, too")


@audit.command("archive", deprecated="2.0.0 removes it, see docs/audit.md#archives.")
@click.option(
    "--before",
    required=True,
    callback=_time,
    help="Archive the records from before this time (RFC 3339, such as 2026-01-31T12:00:00Z).",
)
@click.option(
    "--to",
    "file",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. An existing file is not changed.",
)
def archive(before: datetime, file: Path) -> None:
    """Move the oldest records into a file that 'audit verify --archive' reads.

    The command writes and verifies the file before it removes them from the log. You can start an
    interrupted run again.
    """
    try:
        found = archive_audit(current(Database), current(AuditKeys), before, file, actor=cli_actor())
    except ArchiveRefused as refused:
        raise Refusal(f"nothing was archived: {refused}; see docs/audit.md") from None
    except OSError as error:
        raise Refusal(f"nothing was archived: {file}: {error.strerror}; choose another place") from None
    if found is None:
        say("the log has no records from before that time")
    else:
        say(f"archived records: {found.count}; head {found.head}")


@contextmanager
def _reading() -> Iterator[None]:
    """Report in one line which record cannot be read, or that records are gone."""
    try:
        yield
    except RecordUnreadable as unreadable:
        raise Refusal(f"{unreadable}; flask --app wsgi audit verify names the last intact record") from None
    except ArchivedMeanwhile as gone:
        raise Refusal(str(gone)) from None


@audit.command("list")
@_filters
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_(
    actor: str | None, subject: str | None, action: str | None, since: datetime | None, limit: int
) -> None:
    """List the newest records, newest first."""
    wanted = AuditFilter(actor, action, subject, since)
    with _reading():
        rows = list_audit(current(Database), wanted, limit=limit)
    for row in rows:
        say(f"{row.id}  {_shown(row.at)}  {row.actor}  {row.action}  {row.detail or row.subject}")


@audit.command("show")
@click.argument("record_id", metavar="ID", type=click.IntRange(1, (1 << 63) - 1))
def show(record_id: int) -> None:
    """Show one record and what it changed, field by field."""
    with _reading():
        entry = show_audit(current(Database), record_id)
    if entry is None:
        raise Refusal(f"there is no record {record_id}; flask --app wsgi audit list shows the newest")
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
    with _reading():
        for line in export_audit(current(Database), AuditFilter(actor, action, subject, since)):
            click.echo(line, nl=False)


def _shown(at: datetime) -> str:
    return rfc3339(at, "seconds")
