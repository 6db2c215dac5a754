"""Base fees of all routes to one chain at once."""

from __future__ import annotations

from typing import Any, ClassVar

from flask import request
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import EDIT, Access
from app.admin.forms.bulk import BaseFeesForm
from app.admin.network_names import decimals_by_pool
from app.admin.requests import actor
from app.admin.views.flashes import after_saving, confirmed, note_unconfirmed
from app.runtime.gateway import current_gateway
from app.services.audit.results import Conflict
from app.services.network.edits.fees import preview_fees, save_fees
from app.services.network.edits.results import Invalid
from app.services.proposals.results import ReasonMissing, TooManyProposals


class BaseFees:
    """The page "Base fees by destination" of the routes."""

    more_access: ClassVar[dict[str, Access]] = {"base_fees": EDIT}
    render: Any
    get_url: Any

    @expose("/base-fees", methods=("GET", "POST"))
    def base_fees(self) -> ResponseReturnValue:
        """Set or multiply base fees: a form, a preview row by row, a save."""
        form = BaseFeesForm(formdata=request.form if request.method == "POST" else request.args)
        if form.is_submitted() and form.validate() and not form.back.data:
            answer = self._preview_or_save(form)
            if answer is not None:
                return answer
        page: str = self.render("console/network/fees.html", form=form, decimals=decimals_by_pool())
        return (page, 400) if form.form_errors else page

    def _preview_or_save(self, form: BaseFeesForm) -> ResponseReturnValue | None:
        """The preview, or the list after the save; None where the form has errors now."""
        gateway, edit, changed = current_gateway(), form.edit(), None
        try:
            if confirmed(form):
                shown, reason = form.fingerprint.data or "", form.proposal_reason.data or ""
                note = form.note.data or ""
                saved = save_fees(gateway, edit, shown=shown, actor=actor(), reason=reason, note=note)
                return after_saving(saved, self.get_url(".index_view"))
        except (ReasonMissing, TooManyProposals) as refused:
            note_unconfirmed(form, refused)
        except Conflict as refused:
            changed = refused
        except Invalid as refused:
            form.add_errors(refused.errors)
            return None
        try:
            preview = preview_fees(gateway, edit)
        except Invalid as refused:
            form.add_errors(refused.errors)
            return None
        return self.render("console/network/fees_preview.html", preview=preview, form=form, changed=changed)
