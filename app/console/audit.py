"""The pages of the audit log: who did what, when and from where, and whether its chain is intact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from flask import Response, abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.accounts.services.accounts import find_account
from app.audit.keys import AuditKeys
from app.audit.queries import AuditRow, sealed_record
from app.audit.rules.records import AuditedChange, AuditFilter, Source, changes_network, export_line
from app.audit.services import export_audit, list_audit, show_audit
from app.audit.verification import verify_audit
from app.console.network.change_words import OTHER, DescribedChange, changes_page, restore_page
from app.console.network.names import chain_names
from app.console.shell.access import ADMINISTER, EDIT, READ, Access, Audience, may
from app.console.shell.caller import read_id
from app.console.shell.formats import csv_line
from app.console.shell.views import ConsoleView, download
from app.db.database import Database
from app.http.application import current
from app.values.amounts import grouped
from app.values.json_values import read_time

_PAGE: Final = 50
_LONGEST: Final = 256
_ACTIONS: Final = (
    ("network", "Network configuration"),
    ("two_persons", "Proposals"),
    ("transfer", "Transfer notes"),
    ("anomaly", "Anomalies"),
    ("events", "Event log"),
    ("watch", "Watched chains"),
    ("ingest_token", "Ingest tokens"),
    ("api_key", "API keys"),
    ("webhook", "Webhooks"),
    ("operator", "Accounts"),
    ("operators", "Rules for accounts"),
    ("sign_in", "Sign-ins"),
    ("sign_out", "Sign-outs"),
    ("passkey", "Passkeys"),
    ("recovery_code", "Recovery codes used"),
    ("recovery_codes", "Recovery codes created"),
    ("audit", "Archives of this log"),
    ("sandbox", "Sandbox"),
)
_SOURCES: Final = {source.value: source.value for source in Source} | {
    Source.CLI.value: "command line",
    Source.CONSOLE.value: "console",
}
_COLUMNS: Final = ("id", "at", "actor", "source", "address", "action", "subject", "detail", "key_id")


class AuditView(ConsoleView):
    """The audit log: a list, a page for each record, an export, a check."""

    section = "Records"
    access = {
        "index": READ,
        "record": READ,
        "record_file": READ,
        "export_csv": READ,
        "export_lines": READ,
        "verify": Access(Audience.NOBODY, Audience.VIEWER),
    }

    @expose("/")
    def index(self) -> str:
        wanted, fields = _filter()
        before = read_id(request.args.get("before", ""))
        rows = list_audit(current(Database), wanted, before=before, limit=_PAGE + 1)
        return self.render(
            "console/audit/index.html",
            rows=rows[:_PAGE],
            older=rows[_PAGE - 1].id if len(rows) > _PAGE else None,
            first_page=before is None,
            fields=fields,
            until_day=_last_day(wanted.until),
            actions=_ACTIONS,
            sources=_SOURCES,
            unnoted=current(AuditKeys).anchors.complaint(),
        )

    @expose("/<int:record_id>")
    def record(self, record_id: int) -> str:
        entry = show_audit(current(Database), record_id)
        if entry is None:
            abort(404)
        page = changes_page(entry.changes)
        undone = changes_network(entry.record.action) and any(count.name != OTHER for count in page.counts)
        return self.render(
            "console/audit/record.html",
            row=entry.record,
            page=page,
            changes=[
                _change(entry.record, number, change, described)
                for (number, change), described in zip(page.rows, page.described, strict=True)
            ],
            about=_page_of(entry.record.subject),
            undo=url_for("history.undo", record_id=record_id) if undone and may(EDIT.change) else None,
            sources=_SOURCES,
        )

    @expose("/<int:record_id>.json")
    def record_file(self, record_id: int) -> Response:
        """The whole record as the export writes it: a page shows only some rows of a large one."""
        entry = show_audit(current(Database), record_id)
        if entry is None:
            abort(404)
        line = export_line(sealed_record(entry.record))
        return download(line, "application/json", f"audit-{record_id}.json")

    @expose("/export.csv")
    def export_csv(self) -> Response:
        """The matching records as a table, newest first."""
        return download(_csv(current(Database), _filter()[0]), "text/csv", "audit.csv")

    @expose("/export.ndjson")
    def export_lines(self) -> Response:
        """The matching records, oldest first, with all that verification needs except the key."""
        lines = export_audit(current(Database), _filter()[0])
        return download(lines, "application/x-ndjson", "audit.ndjson")

    @expose("/verify", methods=("POST",))
    def verify(self) -> ResponseReturnValue:
        found = verify_audit(current(Database), current(AuditKeys))
        if found.fault is None:
            flash(
                f"All {grouped(found.count)} records are intact. Store the head elsewhere: {found.head}.",
                "success",
            )
        else:
            flash(
                f"The log is not intact: {found.fault}. It is intact up to {found.head}. Compare it with a "
                "backup.",
                "error",
            )
        return redirect(url_for("audit.index"))


def _page_of(subject: str) -> str | None:
    """The page of the account, proposal or tokens that a record is about; None where there is none."""
    kind, _, name = subject.rpartition(" ")
    if kind == "proposal" and (number := read_id(name)) is not None:
        return url_for("proposals.show", proposal_id=number)
    if kind == "ingest token" and may(ADMINISTER.read):
        return url_for("ingest_tokens.index_view", search=name)
    if kind == "api key" and may(Audience.OPERATOR):
        return url_for("api_keys.index_view", search=name)
    if kind == "operator" and may(ADMINISTER.read):
        account = find_account(current(Database), email=name)
        return None if account is None else url_for("operators.edit", account_id=account.id)
    return None


def _change(record: AuditRow, number: int, change: AuditedChange, found: DescribedChange) -> dict[str, Any]:
    """A change with its links: to its row, the row's history, and back to the values before."""
    made = found.section and changes_network(record.action)
    numbers = {"record_id": record.id, "number": number}
    return {
        "described": found,
        "row": url_for("history.row", **numbers) if made else None,
        "restore": restore_page(found.section, record.id, number, before=True)
        if made and change.before
        else None,
    }


def _filter() -> tuple[AuditFilter, dict[str, str]]:
    """The filter in the URL, and its fields as typed. An unusable date is ignored, with a message."""
    fields = {
        name: request.args.get(name, "").replace("\0", "").strip()[:_LONGEST]
        for name in ("actor", "action", "subject", "since", "until")
    }
    wanted = AuditFilter(
        actor=fields["actor"] or None,
        action=fields["action"] or None,
        subject=_subject(fields["subject"]),
        since=_moment(fields["since"]),
        until=_moment(fields["until"], whole_day=timedelta(days=1)),
    )
    return wanted, fields


def _subject(text: str) -> str | None:
    """The subject that was typed. The log has a chain by its id, pages by its name."""
    chains = (f"chain {each}" for each, name in chain_names().items() if name.casefold() == text.casefold())
    return next(chains, text) or None


def _moment(text: str, whole_day: timedelta = timedelta()) -> datetime | None:
    """The time that was typed; for a date only, its beginning in UTC.

    :param whole_day: added to a date, so that a list until that day includes it.
    """
    if not text:
        return None
    try:
        if len(text) != len("2026-01-31"):
            return read_time(text)
        return read_time(f"{text}T00:00:00Z") + whole_day
    except (ValueError, OverflowError):
        flash(
            f"“{text[:60]}” is not a date. Enter one such as 2026-01-31. The filter was ignored.", "warning"
        )
        return None


def _last_day(until: datetime | None) -> str:
    """The last day in UTC that a list until then includes, for a date field."""
    return "" if until is None else (until - timedelta(microseconds=1)).date().isoformat()


def _csv(database: Database, wanted: AuditFilter) -> Iterator[str]:
    yield csv_line(_COLUMNS)
    before = None
    while rows := list_audit(database, wanted, before=before, limit=1000):
        for row in rows:
            yield csv_line(getattr(row, name) for name in _COLUMNS)
        before = rows[-1].id
