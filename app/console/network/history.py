"""The history of a row of the configuration, and the configuration as it was at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from flask import Response, abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.audit.previews import Preview
from app.audit.queries import AuditRow
from app.audit.rules.records import AuditedChange, changes_network
from app.audit.services import Conflict, show_audit
from app.console.network.change_words import BY_SECTION, changes_page, described_change, restore_page
from app.console.network.document import DocumentView, network_at_typed_time
from app.console.network.editing import links_of_users, page_of
from app.console.network.names import readable, row_title
from app.console.network.previewed import PreviewedForm, previewed, saved
from app.console.shell.access import READ, Access, Audience, may
from app.console.shell.caller import read_id
from app.console.shell.views import ConsoleView, after_saving, download
from app.db.database import Database
from app.http.application import current
from app.network.edits.refusals import InUse, Invalid
from app.network.edits.restore import ChangedLater, ChangedRow, Undo
from app.network.history import RowHistory, row_history, row_of_change

_PAGE: Final = 20
_LONGEST: Final = 256
_MOST_ERRORS: Final = 5
_AGO: Final = (
    ("1 hour ago", timedelta(hours=1)),
    ("24 hours ago", timedelta(hours=24)),
    ("7 days ago", timedelta(days=7)),
)
_UNDO: Final = Access(Audience.OPERATOR, Audience.OPERATOR, sensitive=True)


class HistoryView(ConsoleView):
    """The pages of what the audit log says about the configuration's rows."""

    section = "Records"
    access = {"index": READ, "row": READ, "undo": _UNDO, "at": READ, "at_document": READ}
    menu_page = "at"

    @expose("/")
    def index(self) -> str:
        subject = request.args.get("subject", "").replace("\0", "")[:_LONGEST]
        before = read_id(request.args.get("before", ""))
        found = row_history(current(Database), subject, before=before, limit=_PAGE)
        now = found.row.now if found.row else None
        if not found.changes and now is None:
            abort(404)
        page_of_row = _page_of(found.row)
        return self.render(
            "console/history/row.html",
            found=found,
            now=now,
            title=_title(found),
            page_of_row=page_of_row,
            one=BY_SECTION[found.row.section.name].one if found.row and page_of_row else "",
            entries=[
                {
                    "record": each.record,
                    "described": described_change(each.change),
                    "is_now": each.change.after == now and number == 0 and before is None,
                    "restore": _restore(found, each.record.id, each.number, before=False),
                    "restore_before": _restore(found, each.record.id, each.number, before=True),
                    "change": each.change,
                    "last": found.older is None and number == len(found.changes) - 1,
                }
                for number, each in enumerate(found.changes)
            ],
            first_page=before is None,
            unseen=described_change(AuditedChange(subject, None, now)).lines if not found.changes else (),
        )

    @expose("/record/<int:record_id>/<int:number>")
    def row(self, record_id: int, number: int) -> ResponseReturnValue:
        """Redirects from a change in the log to its row; to the history where the row has no page now."""
        entry = show_audit(current(Database), record_id)
        if entry is None or number >= len(entry.changes):
            abort(404)
        change = entry.changes[number]
        found = row_of_change(current(Database), change)
        if found is None:
            abort(404)
        return redirect(_page_of(found) or url_for("history.index", subject=change.subject))

    @expose("/undo/<int:record_id>", methods=("GET", "POST"))
    def undo(self, record_id: int) -> ResponseReturnValue:
        entry = show_audit(current(Database), record_id)
        if entry is None or not changes_network(entry.record.action):
            abort(404)
        form, changed = PreviewedForm(), False
        undo = Undo(record_id, may(DocumentView.access["apply"].change), form.fingerprint.data or "")
        try:
            try:
                if (made := saved(form, undo)) is not None:
                    return after_saving(made, url_for("audit.record", record_id=made.record_id or record_id))
            except Conflict:
                changed = True
            return self._undo_page(entry.record, form, previewed(form, undo), changed=changed)
        except ChangedLater as refused:
            return self._later_page(entry.record, refused)
        except InUse as refused:
            return self.render(
                "console/network/in_use.html",
                refused=refused,
                link=links_of_users(),
                subject=refused.subject,
                back=url_for("audit.record", record_id=record_id),
            )
        except Invalid as refused:
            for error in refused.first_of_each()[:_MOST_ERRORS]:
                flash(f"Record {record_id} cannot be undone: {error}", "error")
            return redirect(url_for("audit.record", record_id=record_id))

    def _undo_page(self, record: AuditRow, form: PreviewedForm, preview: Preview, *, changed: bool) -> str:
        return self.render(
            "console/history/undo.html",
            record=record,
            form=form,
            preview=preview,
            changed=changed,
            page=changes_page(preview.audited),
        )

    def _later_page(self, record: AuditRow, refused: ChangedLater) -> str:
        return self.render(
            "console/history/changed_later.html",
            record=record,
            refused=refused,
            rows=[(described_change(row.change), row.record) for row in refused.rows],
        )

    @expose("/at")
    def at(self) -> str:
        text, found = network_at_typed_time()
        now = current(Database).clock()
        return self.render(
            "console/history/at.html",
            text=text,
            found=found,
            page=changes_page(found.changes) if found else None,
            presets=[(label, f"{now - ago:%Y-%m-%d %H:%M}") for label, ago in _AGO],
        )

    @expose("/at.json")
    def at_document(self) -> Response:
        _, found = network_at_typed_time()
        if found is None:
            abort(404)
        return download(found.document, "application/json", f"network-{found.at:%Y-%m-%dT%H%M%SZ}.json")


def _title(found: RowHistory) -> str:
    row = found.row
    view = BY_SECTION.get(row.section.name) if row else None
    title = row_title(view.one, row.now or row.change.row) if row and view else readable(found.subject)
    return title[:1].upper() + title[1:]


def _page_of(found: ChangedRow | None) -> str | None:
    """The page of the row; None where it is not there now, or has none."""
    if found is None or found.row is None or found.section.name not in BY_SECTION:
        return None
    return page_of(found.section, found.row)


def _restore(found: RowHistory, record_id: int, number: int, *, before: bool) -> str | None:
    if found.row is None:
        return None
    return restore_page(found.row.section.name, record_id, number, before=before)
