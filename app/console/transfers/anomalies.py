"""The list of anomalies, and how operators acknowledge them."""

from __future__ import annotations

from typing import Any, Final

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup

from app.audit.keys import AuditKeys
from app.audit.services import Conflict
from app.console.network.names import ChainIs
from app.console.shell.access import OPERATOR_BUTTON, may
from app.console.shell.caller import actor, read_id
from app.console.shell.formats import pill, when
from app.console.shell.lists import Choice, ListView, Present
from app.console.shell.views import flash_saved
from app.console.transfers.labels import ANOMALY_WORDS
from app.db.database import Database
from app.http.application import current
from app.transfers.models import Anomaly
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.services import notes

_MOST_AT_ONCE: Final = 1000


def _words(kind: str) -> str:
    """The name of the kind; a kind of a newer version is returned as it is."""
    return ANOMALY_WORDS.get(kind, (kind, ""))[0]


class AnomaliesView(ListView):
    """Anomalies, acknowledged ones too."""

    section = "Overview"
    model_class = Anomaly
    title = "Anomalies"
    explanation = (
        "Reported events that contradict each other. An anomaly stays in the list while they do. "
        "Acknowledge it after you have examined it; further events of the same kind open it again."
    )
    nothing = "No reported events contradict each other."
    list_template = "console/anomalies.html"
    access = {**ListView.access, "acknowledge": OPERATOR_BUTTON}
    column_list = ("select", "kind", "subject", "chain_id", "detail", "last_at", "acknowledged_at")
    column_labels = {
        "select": "Select",
        "subject": "About",
        "chain_id": "Chain",
        "last_at": "Last seen",
        "acknowledged_at": "State",
    }
    column_sortable_list = ("kind", "subject", "chain_id", "last_at", "acknowledged_at")
    column_searchable_list = ("subject", "detail")
    column_default_sort = [("last_at", True), ("id", True)]
    column_filters = (
        Choice(Anomaly.kind, "Kind", [(kind.value, _words(kind.value)) for kind in AnomalyKind]),
        Present(Anomaly.acknowledged_at, "State", "Acknowledged", "Open"),
        ChainIs(Anomaly.chain_id, "Chain"),
    )
    column_formatters = {
        "select": lambda v, c, m, p: _pick(m),
        "kind": lambda v, c, m, p: pill(_words(m.kind), "plain" if m.acknowledged_at is not None else "bad"),
        "subject": lambda v, c, m, p: _subject(m),
        "last_at": lambda v, c, m, p: when(m.last_at),
        "acknowledged_at": lambda v, c, m, p: _state(m),
    }

    @expose("/acknowledge", methods=("POST",))
    def acknowledge(self) -> ResponseReturnValue:
        """Acknowledge the selected anomalies: all of them, or none."""
        shown: dict[int, str] = {}
        for picked in request.form.getlist("pick")[:_MOST_AT_ONCE]:
            number, _, fingerprint = picked.partition(" ")
            anomaly_id = read_id(number)
            if anomaly_id is not None:
                shown[anomaly_id] = fingerprint
        if not shown:
            flash("Select at least one anomaly, then acknowledge it.", "warning")
            return redirect(url_for("anomalies.index_view"))
        try:
            flash_saved(notes.acknowledge(current(Database), current(AuditKeys), shown, actor=actor()))
        except Conflict as refused:
            flash(f"Nothing was acknowledged: {refused}.", "error")
        return redirect(url_for("anomalies.index_view"))


def _pick(row: Anomaly) -> Any:
    if row.acknowledged_at is not None or not may(OPERATOR_BUTTON.change):
        return ""
    return Markup(
        '<input type="checkbox" name="pick" form="acknowledge" value="{} {}" aria-label="Select {} of {}">'
    ).format(row.id, notes.anomaly_fingerprint(row), _words(row.kind), row.subject)


def _subject(row: Anomaly) -> Any:
    if row.transfer_id is None:
        return Markup('<span class="break">{}</span>').format(row.subject)
    whole = f"0x{row.transfer_id.hex()}"
    return Markup('<a class="mono" href="{}" title="{}">{}…{}</a>').format(
        url_for("transfers.transfer", transfer_id=whole), whole, whole[:8], whole[-6:]
    )


def _state(row: Anomaly) -> Any:
    if row.acknowledged_at is None:
        return pill("Open", "warn")
    return Markup('{} <span class="faint">{}<br>{}</span>').format(
        pill("Acknowledged"), row.acknowledged_by or "", when(row.acknowledged_at)
    )
