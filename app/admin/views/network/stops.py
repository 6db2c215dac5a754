"""Stopping several chains on one page, and putting them into service again."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from flask import flash, redirect, request
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import Access, Audience
from app.admin.formats import sentence
from app.admin.forms.network.stops import SwitchChainsForm
from app.admin.network_names import chain_names
from app.admin.requests import actor
from app.admin.views.flashes import after_saving, note_unconfirmed
from app.runtime.gateway import current_gateway
from app.services.audit.results import Conflict, EditRefused
from app.services.network.edits.results import Invalid, NotConfirmed
from app.services.network.edits.stops import Switch, preview_switch, save_switch
from app.services.proposals.results import ReasonMissing, TooManyProposals

_SWITCH = Access(Audience.OPERATOR, Audience.OPERATOR, grave=True)


class StopSeveral:
    """The pages that stop and resume the chains that were picked in the list, or all of them."""

    more_access: ClassVar[dict[str, Access]] = {"stop_several": _SWITCH, "resume_several": _SWITCH}
    render: Callable[..., str]
    get_url: Callable[..., str]

    @expose("/stop", methods=("GET", "POST"))
    def stop_several(self) -> ResponseReturnValue:
        """Stop them: the effects, the reason and what to type, on one page."""
        return self._switch(stop=True)

    @expose("/resume", methods=("GET", "POST"))
    def resume_several(self) -> ResponseReturnValue:
        """Put them into service again."""
        return self._switch(stop=False)

    def _switch(self, *, stop: bool) -> ResponseReturnValue:
        form = SwitchChainsForm(stop=stop)
        if request.method == "GET":
            return self._page(form, form.picked(request.args))
        switch = Switch(form.picked(request.form).chain_ids, stop, form.disabled_reason.data or "")
        if not form.validate():
            return self._page(form, switch)
        try:
            saved = save_switch(
                current_gateway(), switch, shown=form.fingerprint.data or "", actor=actor(),
                typed=form.typed.data or "", reason=form.proposal_reason.data or "",
            )  # fmt: skip
        except (NotConfirmed, ReasonMissing, TooManyProposals) as refused:
            note_unconfirmed(form, refused)
        except Conflict as refused:
            form.form_errors.append(f"{sentence(str(refused))} Nothing was saved. These are the effects now.")
        except Invalid as refused:
            form.add_errors(refused.first_of_each())
        else:
            return after_saving(saved, self.get_url(".index_view"))
        return self._page(form, switch)

    def _page(self, form: SwitchChainsForm, switch: Switch) -> ResponseReturnValue:
        """The page with the effects of now; the list where no chain would be switched."""
        try:
            preview = preview_switch(current_gateway(), switch)
        except EditRefused as refused:
            text = str(refused)
            flash(sentence(text), "warning")
            return redirect(self.get_url(".index_view"))
        if preview.needs_typed:
            form.ask_to_type(preview.needs_typed)
        changed = [(change.after or {}) for change in preview.audited]
        return self.render(
            "console/network/switch.html",
            form=form,
            preview=preview,
            stop=switch.stop,
            chains=sorted((row["name"], row["id"]) for row in changed),
            everything=len(changed) == len(chain_names()),
        )
