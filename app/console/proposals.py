"""The pages of proposals: those that wait for a second person, and how the others were decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from flask import abort, flash, redirect, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user
from wtforms import StringField

from app.accounts.rules.two_persons import (
    ONE_ROW,
    OPERATORS,
    Proposal,
    ProposalState,
    TwoPersons,
)
from app.accounts.services.proposals import (
    list_all,
    list_decided,
    list_waiting,
    list_waiting_about,
    note_expired,
    show_proposal,
    waiting_count,
)
from app.approvals.decide import approve, may_decide, others_who_may, preview_proposal, reject, withdraw
from app.audit.keys import AuditKeys
from app.audit.rules.records import read_changes
from app.audit.services import Conflict, EditRefused, NotConfirmed, Saved
from app.console.network.change_words import BY_SECTION, changes_page, in_words_of
from app.console.network.names import row_title
from app.console.shell.access import READ, Access, Audience
from app.console.shell.caller import actor, read_id
from app.console.shell.formats import sentence
from app.console.shell.forms.form import REASON, ConsoleForm
from app.console.shell.row_pages import LINES, some_rows
from app.console.shell.views import ConsoleView, flash_saved, once_per_request
from app.db.database import Database
from app.http.application import current


class MayWaitForm(ConsoleForm):
    """A form whose change is proposed, with a reason, where ``TWO_PERSONS`` names its section."""

    guarded_section: ClassVar[str]
    change_reason: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.change_reason = StringField(**REASON)  # made last: it is shown after the form's own fields

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.waits = current(TwoPersons).guards(self.guarded_section)
        if not self.waits:
            del self["change_reason"]

    @property
    def why(self) -> str:
        return (self.change_reason.data or "") if self.waits else ""


class ApproveForm(ConsoleForm):
    """Approves a proposal; sensitive ones require a typed name. The page writes the inputs of both forms."""

    typed = StringField()
    risks = StringField()


class CloseForm(ConsoleForm):
    """Rejects a proposal, or withdraws one's own."""

    reason = StringField()


TONES: Final = {
    ProposalState.OPEN: "warn",
    ProposalState.APPROVED: "good",
    ProposalState.REJECTED: "bad",
    ProposalState.WITHDRAWN: "plain",
    ProposalState.EXPIRED: "plain",
}


def title_of(proposal: Proposal) -> str:
    """The change in a few words, rows by the names of their chains."""
    if proposal.kind != ONE_ROW or proposal.section not in BY_SECTION:
        return proposal.summary[:1].upper() + proposal.summary[1:]
    (change,) = read_changes(proposal.changes)
    verb = "Add" if change.before is None else "Remove" if change.after is None else "Change"
    return f"{verb} {row_title(BY_SECTION[proposal.section].one, change.before or change.after or {})}"


_PAGE: Final = 50
_MOST_LINES: Final = 100
"""How many fields are shown of what was changed since a proposal was made."""
_DECIDE: Final = Access(Audience.NOBODY, Audience.OPERATOR, sensitive=True)
"""Approving is as sensitive as the most sensitive change that can wait."""


_SEEN: Final = "decisions_seen"
"""In the cookie: the own proposals that were opened after their decision."""
_MOST_SEEN: Final = 20


def decisions_to_see() -> list[tuple[Proposal, str]]:
    """The user's proposals that were decided in the last day and not opened since in this browser, and the
    decisions.
    """
    email, now = current_user.email, current(Database).clock()
    decided = list_decided(current(Database), current(TwoPersons), email)
    seen = session.get(_SEEN, ()) if decided else ()
    return [(each, each.state_at(now).value) for each in decided if each.id not in seen]


def proposals_about(subject: str) -> list[Proposal]:
    """The proposals that wait and would change this row, for its page."""
    return list_waiting_about(current(Database), current(TwoPersons), current_user.role, subject)


@once_per_request
def proposed_rows() -> frozenset[str]:
    """The rows that a waiting proposal is about, as the audit log names them."""
    waits = current(TwoPersons).sections
    waiting = list_waiting(current(Database), current_user.role) if waits else ()
    return frozenset(each.subject for each in waiting)


class ProposalsView(ConsoleView):
    """Changes of guarded sections: everybody may read them, a second person decides."""

    section = "Overview"
    access = {
        "index": READ,
        "show": READ,
        "approve": _DECIDE,
        "reject": _DECIDE,
        "withdraw": Access(Audience.NOBODY, Audience.VIEWER),
    }

    def in_menu(self) -> bool:
        return bool(current(TwoPersons).sections)

    def badge(self) -> int:
        return waiting_count(current(Database), current(TwoPersons), current_user.role)

    @expose("/")
    def index(self) -> str:
        database = current(Database)
        audit_keys = current(AuditKeys)
        two_persons = current(TwoPersons)
        role = current_user.role
        note_expired(database, audit_keys, actor())
        before = read_id(request.args.get("before", ""))
        page = list_all(database, role, before, _PAGE)
        now = database.clock()
        return self.render(
            "console/proposals/index.html",
            waiting=some_rows(list_waiting(database, role), LINES),
            decided=[each for each in page.proposals if each.state_at(now) is not ProposalState.OPEN],
            title_of=title_of,
            tones=TONES,
            older=page.older,
            first_page=before is None,
            sections=sorted(name.replace("_", " ") for name in two_persons.sections),
            guards_accounts=two_persons.guards(OPERATORS),
            now=now,
        )

    @expose("/<int:proposal_id>")
    def show(self, proposal_id: int) -> str:
        note_expired(current(Database), current(AuditKeys), actor())
        proposal, now = _proposal(proposal_id), current(Database).clock()
        state = proposal.state_at(now)
        if state is not ProposalState.OPEN and proposal.proposed_by == current_user.email:
            session[_SEEN] = [*session.get(_SEEN, ()), proposal_id][-_MOST_SEEN:]
        page = changes_page(read_changes(proposal.changes))
        return self.render(
            "console/proposals/show.html",
            proposal=proposal,
            title=title_of(proposal),
            section=proposal.section.replace("_", " "),
            state=state.value,
            tone=TONES[state],
            page=page,
            approvers=others_who_may(current(Database), proposal),
            why_not=may_decide(current(Database), proposal, current_user.email),
            now=now,
            **(_preview(proposal) if state is ProposalState.OPEN else {}),
        )

    @expose("/<int:proposal_id>/approve", methods=("POST",))
    def approve(self, proposal_id: int) -> ResponseReturnValue:
        form = ApproveForm()
        parts = current(Database), current(AuditKeys)
        return _decide(
            proposal_id,
            form,
            lambda: approve(
                *parts,
                proposal_id,
                actor=actor(),
                typed=form.typed.data or "",
                risks=form.risks.data or "",
            ),
        )

    @expose("/<int:proposal_id>/reject", methods=("POST",))
    def reject(self, proposal_id: int) -> ResponseReturnValue:
        return _close(proposal_id, reject)

    @expose("/<int:proposal_id>/withdraw", methods=("POST",))
    def withdraw(self, proposal_id: int) -> ResponseReturnValue:
        return _close(proposal_id, withdraw)


def _proposal(proposal_id: int) -> Proposal:
    """The proposal, where the current user may see it.

    :raises NotFound: there is none for them.
    """
    found = show_proposal(current(Database), current_user.role, proposal_id)
    if found is None:
        abort(404)
    return found


def _preview(proposal: Proposal) -> dict[str, Any]:
    """The preview, or why there is none and what changed since."""
    try:
        preview = preview_proposal(current(Database), current(TwoPersons), proposal)
        return {"preview": preview, "fees": some_rows(preview.effects, LINES)}
    except Conflict as refused:
        meanwhile = refused.meanwhile[:_MOST_LINES]
        more = len(refused.meanwhile) - len(meanwhile)
        change = read_changes(proposal.changes)[0]
        return {"refused": refused, "meanwhile": in_words_of(change, meanwhile), "more_meanwhile": more}
    except EditRefused as refused:
        return {"refused": refused}


def _close(proposal_id: int, how: Callable[..., Saved]) -> ResponseReturnValue:
    form = CloseForm()
    return _decide(
        proposal_id,
        form,
        lambda: how(
            current(Database), current(AuditKeys), proposal_id, form.reason.data or "", actor=actor()
        ),
    )


def _decide(proposal_id: int, form: ConsoleForm, decide: Callable[[], Saved]) -> ResponseReturnValue:
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
