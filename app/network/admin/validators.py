"""Validator sets by chain and version. Opening sets are configured; rotations come only from the feed."""

from __future__ import annotations

from typing import Any, Final

from flask import abort, flash, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.audit.services import Conflict, Saved
from app.console.access import ADMINISTER, READ
from app.console.forms.fields import NoteField
from app.console.forms.numbers import whole_digits
from app.console.views import ConsoleView, after_saving
from app.db.database import Database
from app.http.application import current
from app.network.admin.change_words import described_change
from app.network.admin.names import chain_names, percent
from app.network.admin.previewed import PreviewedForm, saved_or_previewed
from app.network.admin.validator_sets import validator_sets
from app.network.edits.connecting import opening_edits, opening_set
from app.network.edits.results import Invalid, Preview
from app.network.edits.rows import Edits
from app.values.amounts import grouped

_MOST: Final = 1000


class ValidatorsField(NoteField):
    """Signers with their powers."""

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        help_text = (
            "One validator per line: the signer's address, a space, and its power. They sign the refunds on "
            f"the chain. {description}"
        )
        super().__init__(label, help_text, **kwargs)

    def members(self, chain_id: int) -> list[dict[str, Any]]:
        """The members as the document writes them. What is wrong is added to the errors of the input."""
        rows, errors = [], []
        for number, words in enumerate((line.split() for line in self.text.splitlines()), 1):
            if not words:
                continue
            power = whole_digits(" ".join(words[1:]))
            if power is None:
                errors.append(f"Line {number}: enter an address, a space, and a whole number.")
            else:
                rows.append({"chain_id": chain_id, "signer": words[0], "power": power})
        if len(rows) > _MOST:
            errors.append(f"Enter at most {grouped(_MOST)} lines.")
        own: Any = self
        own.errors = [*own.errors, *errors]
        return rows


class OpeningForm(PreviewedForm):
    """The opening set of a chain."""

    validators = ValidatorsField("Opening validators", "Leave empty if none is known.")


class ValidatorsView(ConsoleView):
    """The validators that sign refunds, by chain: the set in force and earlier ones."""

    section = "Network"
    access = {"index": READ, "opening": ADMINISTER}

    def __init__(self) -> None:
        super().__init__(name="Validators", endpoint="validators")

    @expose("/")
    def index(self) -> str:
        """Every chain, or the one that the address names."""
        chains = validator_sets(current(Database))
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
        form, shown = OpeningForm(), opening_set(current(Database), chain)
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
        try:
            outcome = saved_or_previewed(form, edits)
        except Invalid as refused:
            form.validators.errors = [error.message for error in refused.first_of_each()]
            return self._opening_page(form, chain)
        except Conflict as refused:
            form.form_errors.append(f"{refused}. Nothing was saved.")
            return self._opening_page(form, chain)
        if isinstance(outcome, Saved):
            return after_saving(outcome, url_for("validators.index", chain=chain))
        if not outcome.changes:
            flash("Nothing was changed, so there is nothing to save.", "warning")
            return self._opening_page(form, chain)
        return self._opening_page(form, chain, outcome)

    def _opening_page(self, form: OpeningForm, chain: int, preview: Preview | None = None) -> str:
        return self.render(
            "console/network/opening.html",
            form=form,
            name=chain_names()[chain],
            preview=preview,
            described=[described_change(change) for change in preview.audited] if preview else (),
            chain=chain,
        )
