"""The pages of proposals: what waits for a second person, and what became of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user

from app.admin.access import READ, Access, Audience
from app.admin.formats import sentence
from app.admin.forms.base import ConsoleForm
from app.admin.forms.proposals import ApproveForm, CloseForm
from app.admin.requests import actor
from app.admin.views.base import ConsoleView
from app.admin.views.flashes import flash_saved
from app.admin.views.network.words import BY_SECTION
from app.admin.views.proposal_words import (
    TONES,
    RowWords,
    changes_in_words,
    heading_of,
    in_words,
    line_of,
    title_of,
)
from app.domain.proposals.proposal import Proposal, ProposalState
from app.domain.proposals.two_persons import OPERATORS
from app.runtime.gateway import current_gateway
from app.services.approvals.decide import (
    approve,
    may_decide,
    others_who_may,
    preview_proposal,
    reject,
    withdraw,
)
from app.services.audit.results import Conflict, EditRefused, Saved
from app.services.network.edits.results import NotConfirmed
from app.services.proposals.reading import list_all, list_waiting, show_proposal, waiting_count
from app.services.proposals.store import note_expired

_PAGE: Final = 50
_MOST_ROWS: Final = 100
"""How many rows of a proposal are shown one by one."""
_DECIDE: Final = Access(Audience.NOBODY, Audience.OPERATOR, grave=True)
"""Approving is as grave as the gravest change that can wait."""
_WORDS: Final = {name: RowWords(view.one, view.row_form) for name, view in BY_SECTION.items()}


class ProposalsView(ConsoleView):
    """Changes of guarded sections: everybody reads them, a second person decides."""

    section = "Overview"
    access = {
        "index": READ,
        "show": READ,
        "approve": _DECIDE,
        "reject": _DECIDE,
        "withdraw": Access(Audience.NOBODY, Audience.VIEWER),
    }

    def __init__(self) -> None:
        super().__init__(name="Proposals", endpoint="proposals")

    def in_menu(self) -> bool:
        """Only where ``TWO_PERSONS`` names something."""
        return bool(current_gateway().two_persons.sections)

    def badge(self) -> int:
        """How many wait."""
        return waiting_count(current_gateway(), current_user.role)

    @expose("/")
    def index(self) -> str:
        """What waits, the next to expire first, and what was decided, newest first."""
        gateway, role = current_gateway(), current_user.role
        note_expired(gateway, actor())
        before = request.args.get("before", type=int)
        page = list_all(gateway, role, _within_64_bits(before), _PAGE)
        now = gateway.clock()
        lines = [line_of(proposal, now, _WORDS) for proposal in page.proposals]
        return self.render(
            "console/proposals/index.html",
            waiting=[line_of(each, now, _WORDS) for each in list_waiting(gateway, role)],
            decided=[line for line in lines if line.state is not ProposalState.OPEN],
            older=page.older,
            first_page=before is None,
            sections=sorted(name.replace("_", " ") for name in gateway.two_persons.sections),
            guards_accounts=gateway.two_persons.guards(OPERATORS),
            now=now,
        )

    @expose("/<int:proposal_id>")
    def show(self, proposal_id: int) -> str:
        """One proposal: what the proposer was shown, from the rows of now; and what can be decided."""
        note_expired(current_gateway(), actor())
        proposal, now = _proposal(proposal_id), current_gateway().clock()
        state = proposal.state_at(now)
        return self.render(
            "console/proposals/show.html",
            proposal=proposal,
            title=title_of(proposal, _WORDS),
            section=proposal.section.replace("_", " "),
            state=state.value,
            tone=TONES[state],
            heading=heading_of(proposal),
            changes=changes_in_words(proposal, _WORDS),
            most=_MOST_ROWS,
            approvers=others_who_may(current_gateway(), proposal),
            why_not=may_decide(current_gateway(), proposal, current_user.email),
            now=now,
            **(_preview(proposal) if state is ProposalState.OPEN else {}),
        )

    @expose("/<int:proposal_id>/approve", methods=("POST",))
    def approve(self, proposal_id: int) -> ResponseReturnValue:
        """Make the change."""
        form = ApproveForm()

        def decide() -> Saved:
            typed = form.typed.data or ""
            return approve(current_gateway(), proposal_id, actor=actor(), typed=typed)

        return _decide(proposal_id, form, decide)

    @expose("/<int:proposal_id>/reject", methods=("POST",))
    def reject(self, proposal_id: int) -> ResponseReturnValue:
        """Close it without the change."""
        return _close(proposal_id, reject)

    @expose("/<int:proposal_id>/withdraw", methods=("POST",))
    def withdraw(self, proposal_id: int) -> ResponseReturnValue:
        """Take one's own back."""
        return _close(proposal_id, withdraw)


def _proposal(proposal_id: int) -> Proposal:
    """The proposal, as far as the one who is signed in may see it.

    :raises NotFound: there is none for them.
    """
    found = None
    if proposal_id < 1 << 63:
        found = show_proposal(current_gateway(), current_user.role, proposal_id)
    if found is None:
        abort(404)
    return found


def _preview(proposal: Proposal) -> dict[str, Any]:
    """The preview; or why there is none, and what changed since."""
    try:
        return {"preview": preview_proposal(current_gateway(), proposal)}
    except Conflict as refused:
        return {"refused": refused, "meanwhile": in_words(proposal, refused.meanwhile, _WORDS)}
    except EditRefused as refused:
        return {"refused": refused}


def _close(proposal_id: int, how: Callable[..., Saved]) -> ResponseReturnValue:
    form = CloseForm()
    return _decide(
        proposal_id, form, lambda: how(current_gateway(), proposal_id, form.reason.data or "", actor=actor())
    )


def _decide(proposal_id: int, form: ConsoleForm, decide: Callable[[], Saved]) -> ResponseReturnValue:
    """Decide, and show the proposal with a message about what came of it."""
    _proposal(proposal_id)
    if not form.validate():
        flash(" ".join(map(str, form.form_errors)) or "The form is incomplete. Nothing was changed.", "error")
        return redirect(url_for("proposals.show", proposal_id=proposal_id))
    try:
        saved = decide()
    except NotConfirmed as refused:
        flash(f"Type “{refused.needs_typed}” to confirm. Nothing was changed.", "error")
    except EditRefused as refused:
        flash(f"Nothing was changed: {sentence(str(refused))}", "error")
    else:
        if saved.proposal_id is None:
            flash_saved(saved)
        else:
            flash(sentence(saved.changes[0]), "success")
    return redirect(url_for("proposals.show", proposal_id=proposal_id))


def _within_64_bits(number: int | None) -> int | None:
    return None if number is None else max(min(number, (1 << 63) - 1), 0)
