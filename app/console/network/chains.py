"""The page of chains, and the switches that stop one or several."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from msgspec.structs import replace
from wtforms import HiddenField

from app.audit.services import Conflict, EditRefused
from app.console.network.editing import Attempt, NetworkView
from app.console.network.names import chain_names, stopped_chains
from app.console.network.previewed import PreviewedForm, previewed, saved
from app.console.shell.access import EDIT, Access, Audience, may
from app.console.shell.caller import read_id
from app.console.shell.formats import grouped, pill, sentence, unknown
from app.console.shell.forms.fields import LineField
from app.console.shell.lists import Flag
from app.console.shell.views import after_saving, once_per_request, read
from app.console.sign_in.step_up import step_up
from app.console.watched_chains import watch_pill, watched, watched_now
from app.db.database import Database
from app.http.application import current
from app.network.edits.entered import Switch
from app.network.edits.refusals import Invalid
from app.network.models import Chain
from app.network.queries import rows_with
from app.transfers.queries.trends import chain_progress
from app.values.identifiers import ChainId
from app.watcher.rules.watched import is_reported

PICKED: Final = "chain"
"""The name of the inputs that hold the chains."""


class SwitchChainsForm(PreviewedForm):
    """Which chains, why, and what has to be typed."""

    chain = HiddenField()
    disabled_reason = LineField(
        "Reason", "Other operators see it on every page. Users never see it.", needed=False
    )


def _picked(*, stop: bool) -> Switch:
    """The chains that the request names; with ``all`` every chain."""
    given = request.form if request.method == "POST" else request.args
    if given.get("all"):
        return Switch(frozenset(chain_names()), stop)
    picked = map(read_id, given.getlist(PICKED))
    return Switch(frozenset(chain_id for chain_id in picked if chain_id is not None), stop)


_SWITCH = Access(Audience.OPERATOR, Audience.OPERATOR, sensitive=True)


def _pick(chain: Chain) -> Any:
    if not may(EDIT.change):
        return ""
    return Markup(
        '<input type="checkbox" name="{}" form="several" value="{}" aria-label="Select {}">'
    ).format(PICKED, chain.chain_id, chain.name)


def _state(chain: Chain) -> Any:
    """Whether the chain is in service; where it is not, since when, by whom and why."""
    if not chain.disabled:
        return pill("running", "good")
    stop = next((stop for stop in stopped_chains() if stop.chain_id == chain.chain_id), None)
    lines = Markup('{}<small class="smallest">{}</small>').format(
        pill("retired") if chain.retired else pill("stopped", "bad"), chain.disabled_reason
    )
    if stop is None or stop.by is None:
        return lines
    return lines + Markup('<small class="smallest">{} ago by {}</small>').format(stop.ago, stop.by)


def _reading(chain: Chain) -> Any:
    """How the watcher reads the chain, and how far behind it is; or whether its reporters are heard."""
    reads = watched(chain.chain_id)
    if reads is None:
        newest_at = _reported_at().get(ChainId(chain.chain_id))
        heard = chain.disabled or is_reported(newest_at, current(Database).clock())
        return Markup('<span class="faint">by reporters</span> {}').format(
            "" if heard else unknown("not reported", newest_at)
        )
    lag = reads.lag if reads.is_read else None
    behind = "" if lag is None else f"{grouped(lag)} {'block' if lag == 1 else 'blocks'} behind"
    return Markup('{}<small class="smallest">{}</small>').format(watch_pill(reads), behind)


@once_per_request
def _reported_at() -> Mapping[ChainId, datetime]:
    """When the newest event of each chain happened."""
    return {row.chain_id: row.newest_at for row in read(chain_progress)}


class ChainsView(NetworkView):
    """Chains, and the switches that stop and resume one, those picked in the list, or all of them."""

    model_class = Chain
    title = "Chains"
    one = "chain"
    explanation = "Where transfers start and end. A stopped chain gets no estimates, in either direction."
    nothing = "No chain is configured yet. Connect one, or import a network document on the server."
    new_endpoint = "connect.index"
    new_label = "Connect a chain"
    access = {
        **NetworkView.access,
        **dict.fromkeys(("stop", "resume"), _SWITCH),
    }
    column_list = (
        "name", "act", "disabled", "reading", "chain_id", "block_delay", "minimal_max_slippage", "pick",
    )  # fmt: skip
    column_labels = {
        "pick": "Select",
        "chain_id": "ID",
        "disabled": "State",
        "minimal_max_slippage": "Minimum slippage",
        "act": "Action",
    }
    column_sortable_list = ("name", "chain_id", "disabled", "block_delay", "minimal_max_slippage")
    column_searchable_list = ("name", "chain_id", "contract_addr", "disabled_reason")
    column_default_sort = "name"
    column_filters = (Flag(Chain.disabled, "State", "stopped", "running"),)
    column_formatters = {
        "pick": lambda v, c, m, p: _pick(m),
        "disabled": lambda v, c, m, p: _state(m),
        "reading": lambda v, c, m, p: _reading(m),
        "act": lambda v, c, m, p: v.switch(m),
    }

    def badge(self) -> int:
        return sum(not chain.is_read for chain in watched_now())

    @expose("/new")
    def new(self) -> ResponseReturnValue:
        return redirect(url_for("connect.index"))

    def switch(self, chain: Chain) -> Any:
        if not may(EDIT.change):
            return ""
        action, label = ("resume", "Resume") if chain.disabled else ("stop", "Stop")
        return Markup('<a class="button quiet small{}" href="{}" aria-label="{} {}">{}</a>').format(
            "" if chain.disabled else " danger",
            url_for(f"chains.{action}", key=chain.chain_id),
            label,
            chain.name,
            label,
        )

    def row_url(self, row: Any) -> str:
        return url_for("chains.edit", key=row.chain_id)

    def row_id(self, key: int) -> int | None:
        found = read(rows_with, Chain, "chain_id", [key])
        return found[0]["id"] if found else None

    def attempt(self, on: Attempt) -> ResponseReturnValue:
        """Require a new proof of identity before a chain is stopped by its form, too."""
        stops = (on.edit.values or {}).get("disabled") and on.row and not on.row.values["disabled"]
        step = step_up(needed=True) if stops and on.form.confirm.data else None
        return step or super().attempt(on)

    @expose("/stop", methods=("GET", "POST"))
    @expose("/<int:key>/stop", methods=("GET", "POST"))
    def stop(self, key: int | None = None) -> ResponseReturnValue:
        """Stop a chain, or those that the request names: one page has effects, reason, and what to type."""
        return self._switch(key, stop=True)

    @expose("/resume", methods=("GET", "POST"))
    @expose("/<int:key>/resume", methods=("GET", "POST"))
    def resume(self, key: int | None = None) -> ResponseReturnValue:
        return self._switch(key, stop=False)

    def _switch(self, key: int | None, *, stop: bool) -> ResponseReturnValue:
        form, switch, back = SwitchChainsForm(), _picked(stop=stop), self.get_url(".index_view")
        if key is not None:
            self.shown_row(key)
            switch, back = Switch(frozenset({key}), stop), url_for("chains.edit", key=key)
        if request.method == "POST":
            reason, shown = form.disabled_reason.data or "", form.fingerprint.data or ""
            switch = replace(switch, reason=reason, shown=shown)
            try:
                if form.validate() and (made := saved(form, switch, at_once=True)) is not None:
                    return after_saving(made, self.get_url(".index_view"))
            except Conflict as refused:
                form.form_errors.append(
                    f"{sentence(str(refused))} Nothing was saved. These are the effects now."
                )
            except Invalid as refused:
                form.add_errors(refused.first_of_each())
        try:
            # The plan requires a reason, on which the effects do not depend.
            preview = previewed(form, replace(switch, reason=switch.reason or "to be given"))
        except EditRefused as refused:
            flash(sentence(str(refused)), "warning")
            return redirect(back)
        changed = [(change.after or {}) for change in preview.audited]
        return self.render(
            "console/network/switch.html",
            form=form,
            preview=preview,
            stop=switch.stop,
            chains=sorted((row["name"], row["id"]) for row in changed),
            everything=len(changed) == len(chain_names()),
        )
