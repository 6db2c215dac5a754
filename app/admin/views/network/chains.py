"""The page of chains, and the switch that stops one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup

from app.admin.access import EDIT, may
from app.admin.formats import cut, pill
from app.admin.forms.base import PreviewedForm
from app.admin.forms.bulk import StopChainForm
from app.admin.forms.network.stops import PICKED
from app.admin.forms.sections import ChainForm
from app.admin.network_names import percent
from app.admin.pages.incidents import stopped_chains
from app.admin.sign_in.step_up import step_up
from app.admin.views.filters import Flag
from app.admin.views.network.editing import Attempt, NetworkView
from app.admin.views.network.stops import StopSeveral
from app.db.engine import reading
from app.models.network import Chain
from app.queries.network import chain_row_id
from app.runtime.gateway import current_gateway
from app.services.network.edits.edit import ShownRow, preview_edit
from app.services.network.edits.planning import Edit


def _pick(chain: Chain) -> Any:
    """The box that picks a chain for the buttons above the list."""
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
        pill("stopped", "bad"), chain.disabled_reason
    )
    if stop is None or stop.by is None:
        return lines
    return lines + Markup('<small class="smallest">{} ago by {}</small>').format(stop.ago, stop.by)


class ChainsView(StopSeveral, NetworkView):
    """Chains, and the switch that stops one."""

    model_class = Chain
    title = "Chains"
    one = "chain"
    explanation = "Where transfers start and end. A stopped chain gets no estimates, in either direction."
    nothing = "No chain is configured yet. Connect one, or import a network document on the server."
    row_endpoint = "chains.edit"
    new_endpoint = "connect.index"
    new_label = "Connect a chain"
    access = {**NetworkView.access, **StopSeveral.more_access, "stop": EDIT, "resume": EDIT}
    column_list = (
        "name", "act", "disabled", "chain_id", "gas_token_symbol", "block_delay", "minimal_max_slippage",
        "contract_addr", "pick",
    )  # fmt: skip
    column_labels = {
        "pick": "Select",
        "chain_id": "ID",
        "disabled": "State",
        "gas_token_symbol": "Gas token",
        "minimal_max_slippage": "Minimum slippage",
        "contract_addr": "Contract",
        "act": "Action",
        "block_delay": "Block delay",
        "disabled_reason": "Reason",
    }
    column_sortable_list = ("name", "chain_id", "disabled", "block_delay", "minimal_max_slippage")
    column_searchable_list = ("name", "chain_id", "contract_addr", "disabled_reason")
    column_default_sort = "name"
    column_filters = (Flag(Chain.disabled, "State", "stopped", "running"),)
    numbers = frozenset({"chain_id", "block_delay", "minimal_max_slippage"})
    column_formatters = {
        "pick": lambda v, c, m, p: _pick(m),
        "disabled": lambda v, c, m, p: _state(m),
        "minimal_max_slippage": lambda v, c, m, p: percent(m.minimal_max_slippage),
        "contract_addr": lambda v, c, m, p: cut(m.contract_addr),
        "act": lambda v, c, m, p: v.switch(m),
    }
    row_form = ChainForm

    @expose("/new")
    def new(self) -> ResponseReturnValue:
        """Where chains were added once."""
        return redirect(url_for("connect.index"))

    def switch(self, chain: Chain) -> Any:
        """The button that stops or resumes a chain."""
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
        """Chains go by their own ids."""
        return url_for("chains.edit", key=row.chain_id)

    def row_id(self, key: int) -> int | None:
        """The row of the chain with this id."""
        with reading(current_gateway().reads) as connection:
            return chain_row_id(connection, key)

    def key_of(self, values: Mapping[str, Any], row_id: int) -> int:
        """The chain's id."""
        return int(values["id"])

    def attempt(self, on: Attempt, *, save: bool = False) -> ResponseReturnValue:
        """Ask who it is again before a chain is stopped, by its button or by its form."""
        stops = (on.edit.values or {}).get("disabled") and on.row and not on.row.values["disabled"]
        asks = step_up(needed=True) if stops and (save or on.form.confirm.data) else None
        return asks or super().attempt(on, save=save)

    @expose("/<int:key>/stop", methods=("GET", "POST"))
    def stop(self, key: int) -> ResponseReturnValue:
        """Stop a chain: the reason, its name typed, and what it will do, on one page."""
        row = self.shown_row(key)
        if row.values["disabled"]:
            flash(f"{row.values['name']} is already stopped.", "warning")
            return redirect(url_for("chains.edit", key=key))
        form = StopChainForm()
        form.ask_to_type(row.values["name"])
        if request.method == "GET":
            form.fingerprint.data = row.fingerprint
            return self._stop_page(form, row)

        def again(form: PreviewedForm) -> ResponseReturnValue:
            return self._stop_page(form, row)

        values = {"disabled": True, "disabled_reason": form.disabled_reason.data}
        edit = Edit("chains", row.row_id, values, form.fingerprint.data)
        return self.attempt(Attempt(edit, form, row, again), save=True)

    def _stop_page(self, form: PreviewedForm, row: ShownRow) -> str:
        # The effects do not depend on the reason, but the service requires one.
        values = {"disabled": True, "disabled_reason": "to be given"}
        return self.render(
            "console/network/stop.html",
            preview=preview_edit(current_gateway(), Edit("chains", row.row_id, values, row.fingerprint)),
            form=form,
            chain=row.values["name"],
        )

    @expose("/<int:key>/resume", methods=("GET", "POST"))
    def resume(self, key: int) -> ResponseReturnValue:
        """Put a stopped chain into service again, after a preview of what opens."""
        row = self.shown_row(key)
        if not row.values["disabled"]:
            flash(f"{row.values['name']} is already running.", "warning")
            return redirect(url_for("chains.edit", key=key))
        # Nothing is typed on this page, so nothing is handed on.
        form = self.row_form(row=row.values, locked=dict.fromkeys(row.values, ""))
        if request.method == "GET":
            form.fingerprint.data = row.fingerprint
        edit = Edit("chains", row.row_id, {"disabled": False}, form.fingerprint.data)

        def again(form: PreviewedForm) -> ResponseReturnValue:
            return redirect(url_for("chains.edit", key=key))

        return self.attempt(Attempt(edit, form, row, again, filled_in=False))
