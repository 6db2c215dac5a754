"""Validator sets by chain and version. Opening sets are configured; rotations come from the feed alone."""

from __future__ import annotations

from flask import abort, flash, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import ADMINISTER, READ
from app.admin.forms.network.validators import OpeningForm
from app.admin.network_names import chain_names, percent
from app.admin.pages.validator_sets import validator_sets
from app.admin.requests import actor
from app.admin.views.base import ConsoleView
from app.admin.views.flashes import after_saving, note_unconfirmed
from app.admin.views.network.words import told
from app.runtime.gateway import current_gateway
from app.services.audit.results import Conflict
from app.services.network.edits.opening import opening_edits, opening_set
from app.services.network.edits.results import Invalid, Preview
from app.services.network.edits.several import Edits, preview_edits, save_edits
from app.services.proposals.results import ReasonMissing, TooManyProposals


class ValidatorsView(ConsoleView):
    """The validators that sign refunds, by chain: the set in force and earlier ones."""

    section = "Network"
    access = {"index": READ, "opening": ADMINISTER}

    def __init__(self) -> None:
        super().__init__(name="Validators", endpoint="validators")

    @expose("/")
    def index(self) -> str:
        """Every chain, or the one that the address names."""
        chains = validator_sets(current_gateway())
        wanted = request.args.get("chain", "")
        shown = [chain for chain in chains if str(chain.chain_id) == wanted] or chains
        return self.render(
            "console/validators.html", chains=chains, shown=shown, wanted=wanted, percent=percent
        )

    @expose("/<int:chain>/opening", methods=("GET", "POST"))
    def opening(self, chain: int) -> ResponseReturnValue:
        """Set the opening validators of a chain, after a preview."""
        if chain not in chain_names():
            abort(404)
        form, shown = OpeningForm(), opening_set(current_gateway(), chain)
        if request.method == "GET":
            form.fingerprint.data = shown.fingerprint
            lines = (f"{row['signer']} {row['power']}" for row in shown.members.values())
            form.validators.process_data("\n".join(lines))
            return self._opening_page(form, chain)
        wanted = form.validators.members(chain) if form.validate() else []
        if form.errors or form.back.data:
            return self._opening_page(form, chain)
        if form.fingerprint.data != shown.fingerprint:
            form.form_errors.append(
                "The set was changed while you were editing. Nothing was saved. Reload the page."
            )
            return self._opening_page(form, chain)
        return self._preview_or_save(form, chain, opening_edits(chain, shown, wanted))

    def _preview_or_save(self, form: OpeningForm, chain: int, edits: Edits) -> ResponseReturnValue:
        gateway = current_gateway()
        try:
            if form.confirm.data:
                reason, note = form.proposal_reason.data or "", form.note.data or ""
                saved = save_edits(gateway, edits, actor=actor(), reason=reason, note=note)
                return after_saving(saved, url_for("validators.index", chain=chain))
            preview = preview_edits(gateway, edits)
        except (ReasonMissing, TooManyProposals) as refused:
            note_unconfirmed(form, refused)
            preview = preview_edits(gateway, edits)
        except Invalid as refused:
            form.validators.errors = [error.message for error in refused.first_of_each()]
            return self._opening_page(form, chain)
        except Conflict as refused:
            form.form_errors.append(f"{refused}. Nothing was saved.")
            return self._opening_page(form, chain)
        if not preview.audited:
            flash("Nothing was changed, so there is nothing to save.", "warning")
            return self._opening_page(form, chain)
        return self._opening_page(form, chain, preview)

    def _opening_page(self, form: OpeningForm, chain: int, preview: Preview | None = None) -> str:
        return self.render(
            "console/network/opening.html",
            form=form,
            name=chain_names()[chain],
            preview=preview,
            told=[told(change) for change in preview.audited] if preview else (),
            chain=chain,
        )
