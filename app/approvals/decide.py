"""A second person decides about a proposal, or its proposer withdraws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from msgspec import convert
from sqlalchemy import Connection

from app.accounts.queries import all_accounts
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import (
    ONE_ROW,
    Person,
    Proposal,
    ProposalState,
    TwoPersons,
    why_not_approve,
    why_not_reject,
    why_not_withdraw,
)
from app.accounts.services.account_changes import (
    ACCOUNT,
    FACTOR_OPTIONAL,
    replan_account,
    replan_optional_factor,
)
from app.accounts.services.accounts import AccountRefused, account_named
from app.accounts.services.planned_changes import PlannedChange
from app.accounts.services.proposals import (
    ProposalRefused,
    changed_since,
    checked_reason,
    close_proposal,
    note_expired,
    require_as_proposed,
    require_open,
)
from app.audit.keys import AuditKeys
from app.audit.previews import Preview
from app.audit.rules.records import Actor
from app.audit.services import Conflict, Saved
from app.credentials.services.issued import CredentialRefused
from app.credentials.services.issuing import API_KEY, SECOND_TOKEN, TOKEN, issued_again
from app.db.database import Database
from app.db.engine import reading, reading_consistently, writing
from app.network.edits.entered import SEVERAL, Edits
from app.network.edits.fees import BASE_FEES, FeeEdit
from app.network.edits.plan import Edit
from app.network.edits.save import Command, NetworkChange


def _replan_network(
    edit_of: Callable[[Mapping[str, Any]], Command],
    connection: Connection,
    database: Database,
    proposal: Proposal,
) -> NetworkChange:
    """The change of the network that a proposal would make now. ``edit_of`` makes the edit of its input.

    :raises EditRefused: it cannot be made any more: ``Conflict``, ``Invalid`` or ``InUse``.
    """
    try:
        planned = edit_of(proposal.given).planned(connection, database.clock())
        planned.require_seen()
    except Conflict as refused:
        raise changed_since(proposal, refused.meanwhile) from None
    require_as_proposed(proposal, planned.changes)
    return planned


_COMMANDS: Final[Mapping[str, Callable[[Connection, Database, Proposal], PlannedChange]]] = {
    ONE_ROW: partial(_replan_network, partial(convert, type=Edit)),
    SEVERAL: partial(_replan_network, partial(convert, type=Edits)),
    BASE_FEES: partial(_replan_network, FeeEdit.of_input),
    ACCOUNT: replan_account,
    FACTOR_OPTIONAL: replan_optional_factor,
    API_KEY: issued_again,
    TOKEN: issued_again,
    SECOND_TOKEN: issued_again,
}
"""How each kind of proposal is planned again, by its name."""


def preview_proposal(database: Database, two_persons: TwoPersons, proposal: Proposal) -> Preview:
    """The preview that the proposer was shown, made again from the present rows.

    :raises EditRefused: why it could not be made any more: ``Conflict`` where a row was changed since.
    """
    try:
        with reading_consistently(database.engine) as connection:
            planned = _COMMANDS[proposal.kind](connection, database, proposal)
            return planned.preview(connection, two_persons, database.clock())
    except (AccountRefused, CredentialRefused) as refused:
        raise ProposalRefused(str(refused)) from None


def approve(
    database: Database,
    audit_keys: AuditKeys,
    proposal_id: int,
    *,
    actor: Actor,
    typed: str = "",
    risks: str = "",
) -> Saved:
    """Make the proposed change, in one transaction with the records that name both persons.

    :param typed: what was typed to confirm, where the preview requires a name.
    :param risks: those of the preview (``Preview.risks``); empty if nobody saw one.
    :raises ProposalRefused: this person may not, or it is not open any more.
    :raises EditRefused: why the change cannot be made any more; the proposal stays open.
    """
    note_expired(database, audit_keys, actor)
    try:
        with writing(database.engine) as connection:
            proposal = require_open(connection, proposal_id, database.clock())
            proposer = _person(connection, proposal.proposed_by)
            _allow(why_not_approve(proposal, proposer, _person(connection, actor.name)))
            planned = _COMMANDS[proposal.kind](connection, database, proposal)
            planned.require_typed(typed, risks)
            made = planned.run(connection, database, audit_keys, actor, proposal.by_two(actor.name))
            return close_proposal(
                connection, database, audit_keys, proposal, ProposalState.APPROVED, actor, made=made
            )
    except (AccountRefused, CredentialRefused) as refused:
        raise ProposalRefused(str(refused)) from None


def reject(
    database: Database, audit_keys: AuditKeys, proposal_id: int, reason: str, *, actor: Actor
) -> Saved:
    """Close the proposal without making the change.

    :raises ProposalRefused: this person may not, or it is not open any more.
    :raises ReasonMissing: no reason is given.
    """
    return _close_unmade(database, audit_keys, proposal_id, ProposalState.REJECTED, reason, actor)


def withdraw(
    database: Database, audit_keys: AuditKeys, proposal_id: int, reason: str, *, actor: Actor
) -> Saved:
    """Withdraw one's own proposal.

    :raises ProposalRefused: it is somebody else's, or it is not open any more.
    :raises ReasonMissing: no reason is given.
    """
    return _close_unmade(database, audit_keys, proposal_id, ProposalState.WITHDRAWN, reason, actor)


def may_decide(database: Database, proposal: Proposal, email: str) -> dict[str, str | None]:
    """Why the account may not ``approve``, ``reject`` or ``withdraw`` the proposal; None where it may."""
    with reading(database.engine) as connection:
        person, proposer = _person(connection, email), _person(connection, proposal.proposed_by)
    return {
        "approve": why_not_approve(proposal, proposer, person),
        "reject": why_not_reject(proposal, person),
        "withdraw": why_not_withdraw(proposal, person),
    }


def others_who_may(database: Database, proposal: Proposal) -> int:
    """How many accounts could approve the proposal, by their present roles."""
    with reading(database.engine) as connection:
        return sum(
            Person(row["email"], Role(row["role"]), row["active"]).may_change(proposal.section)
            for row in all_accounts(connection)
            if row["email"] != proposal.proposed_by
        )


def _close_unmade(
    database: Database,
    audit_keys: AuditKeys,
    proposal_id: int,
    state: ProposalState,
    reason: str,
    actor: Actor,
) -> Saved:
    note_expired(database, audit_keys, actor)
    why = checked_reason(reason)
    check = why_not_reject if state is ProposalState.REJECTED else why_not_withdraw
    with writing(database.engine) as connection:
        proposal = require_open(connection, proposal_id, database.clock())
        _allow(check(proposal, _person(connection, actor.name)))
        return close_proposal(connection, database, audit_keys, proposal, state, actor, reason=why)


def _person(connection: Connection, email: str) -> Person | None:
    account = account_named(connection, email)
    return None if account is None else Person(account.email, account.role, account.active)


def _allow(complaint: str | None) -> None:
    if complaint is not None:
        raise ProposalRefused(complaint)
