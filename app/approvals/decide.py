"""A second person decides about a proposal, or its proposer takes it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection

from app.accounts.proposal import (
    ONE_ROW,
    Person,
    Proposal,
    ProposalState,
    TwoPersons,
    why_not_approve,
    why_not_reject,
    why_not_withdraw,
)
from app.accounts.queries import all_accounts
from app.accounts.roles import Role
from app.accounts.services.accounts import AccountRefused, account_named
from app.accounts.services.proposals import (
    Command,
    ProposalRefused,
    close,
    note_expired,
    require_open,
    stated,
)
from app.approvals.network import make_network, preview_network
from app.approvals.operators import (
    ACCOUNT,
    RELAXING,
    make_account,
    make_relaxing,
    preview_account,
    preview_relaxing,
)
from app.audit.keys import AuditKeys
from app.audit.records import Actor
from app.audit.services import Saved
from app.credentials.services.issued import CredentialRefused
from app.credentials.services.issuing import API_KEY, SECOND_TOKEN, TOKEN, issued_again
from app.db.database import Database
from app.db.engine import reading, writing
from app.network.edits.fees import BASE_FEES, FeesPreview
from app.network.edits.results import Preview
from app.network.edits.rows import SEVERAL


class _Kind(Struct, frozen=True):
    """How a proposal of one kind is previewed, and how it is made."""

    preview: Callable[[Database, TwoPersons, Proposal], Preview | FeesPreview]
    make: Callable[[Connection, Database, AuditKeys, TwoPersons, Proposal, Actor, str], Saved]


def _again(plan: Callable[[Connection, Database, Proposal], Command]) -> _Kind:
    """A command that is run again.

    :param plan: plans it from the proposal and the rows of now.
    """

    def preview(database: Database, _two_persons: TwoPersons, proposal: Proposal) -> Preview:
        with reading(database.engine) as connection:
            return plan(connection, database, proposal).preview()

    def make(
        connection: Connection,
        database: Database,
        audit_keys: AuditKeys,
        _two_persons: TwoPersons,
        proposal: Proposal,
        actor: Actor,
        _typed: str,
    ) -> Saved:
        command = plan(connection, database, proposal)
        return command.run(connection, database, audit_keys, actor, proposal.by_two(actor.name))

    return _Kind(preview, make)


_KINDS: Final = {
    ONE_ROW: _Kind(preview_network, make_network),
    BASE_FEES: _Kind(preview_network, make_network),
    SEVERAL: _Kind(preview_network, make_network),
    ACCOUNT: _Kind(preview_account, make_account),
    TOKEN: _again(issued_again),
    SECOND_TOKEN: _again(issued_again),
    API_KEY: _again(issued_again),
    RELAXING: _Kind(preview_relaxing, make_relaxing),
}


def preview_proposal(
    database: Database, two_persons: TwoPersons, proposal: Proposal
) -> Preview | FeesPreview:
    """The preview that the proposer was shown, from the rows of now.

    :raises EditRefused: why it could not be made any more: ``Conflict`` where a row was changed since.
    """
    try:
        return _KINDS[proposal.kind].preview(database, two_persons, proposal)
    except (AccountRefused, CredentialRefused) as refused:
        raise ProposalRefused(str(refused)) from None


def approve(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    proposal_id: int,
    *,
    actor: Actor,
    typed: str = "",
) -> Saved:
    """Make the proposed change, in one transaction with the records that name both persons.

    :param typed: what was typed to confirm, where the preview asks for a name.
    :raises ProposalRefused: this person may not, or it is not open any more.
    :raises EditRefused: why the change cannot be made any more; the proposal stays open.
    """
    note_expired(database, audit_keys, actor)
    try:
        with writing(database.engine) as connection:
            proposal = require_open(connection, proposal_id, database.clock())
            proposer = _person(connection, proposal.proposed_by)
            _allow(why_not_approve(proposal, proposer, _person(connection, actor.name)))
            made = _KINDS[proposal.kind].make(
                connection, database, audit_keys, two_persons, proposal, actor, typed
            )
            return close(connection, database, audit_keys, proposal, ProposalState.APPROVED, actor, made=made)
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
    """Take one's own proposal back.

    :raises ProposalRefused: it is somebody else's, or it is not open any more.
    :raises ReasonMissing: no reason is given.
    """
    return _close_unmade(database, audit_keys, proposal_id, ProposalState.WITHDRAWN, reason, actor)


def may_decide(database: Database, proposal: Proposal, email: str) -> dict[str, str | None]:
    """Why the account may not ``approve``, ``reject`` or ``withdraw`` the proposal; None for what it may."""
    with reading(database.engine) as connection:
        person, proposer = _person(connection, email), _person(connection, proposal.proposed_by)
    return {
        "approve": why_not_approve(proposal, proposer, person),
        "reject": why_not_reject(proposal, person),
        "withdraw": why_not_withdraw(proposal, person),
    }


def others_who_may(database: Database, proposal: Proposal) -> int:
    """How many accounts could approve the proposal, by their roles of now."""
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
    why = stated(reason)
    check = why_not_reject if state is ProposalState.REJECTED else why_not_withdraw
    with writing(database.engine) as connection:
        proposal = require_open(connection, proposal_id, database.clock())
        _allow(check(proposal, _person(connection, actor.name)))
        return close(connection, database, audit_keys, proposal, state, actor, reason=why)


def _person(connection: Connection, email: str) -> Person | None:
    """The account as it is now; None where there is none."""
    account = account_named(connection, email)
    return None if account is None else Person(account.email, account.role, account.active)


def _allow(complaint: str | None) -> None:
    if complaint is not None:
        raise ProposalRefused(complaint)
