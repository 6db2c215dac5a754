"""A proposed change: which changes wait for a second person, its states, and who may decide about it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr

from app.accounts.rules.roles import Role

OPERATORS: Final = "operators"
"""The accounts of the console, in addition to the sections of the network document."""

INGEST_TOKENS: Final = "ingest_tokens"
"""The tokens of reporters."""

API_KEYS: Final = "api_keys"
"""The keys of integrators."""

REPORTED: Final = frozenset({"pools", "routes", "validators"})
"""Sections that the feed adds to or outranks: counters, base fees, validator sets. A bearer of a token can
change them by reporting (docs/console.md#two-persons)."""

ADMINISTERED: Final = frozenset({OPERATORS, INGEST_TOKENS, API_KEYS})
"""What only administrators change. Only they see what is proposed."""


class TwoPersons(Struct, frozen=True):
    """The sections whose changes wait for a second person, and how long a proposal can be approved.

    A section that the feed changes implies ``INGEST_TOKENS``: otherwise one person with a new token could
    change the section.
    """

    sections: frozenset[str] = frozenset()
    lifetime: timedelta = timedelta(hours=72)

    def __post_init__(self) -> None:
        if self.sections & REPORTED:
            force_setattr(self, "sections", self.sections | {INGEST_TOKENS})

    def guards(self, section: str) -> bool:
        return section in self.sections


NO_APPROVALS: Final = TwoPersons()
"""One person is enough for everything."""


def needed_role(section: str) -> Role:
    """The role that a change of the section needs, of its proposer and of its approver."""
    return Role.ADMIN if section in ADMINISTERED else Role.OPERATOR


ONE_ROW: Final = "row"
"""The kind of a proposal that is about one row of the network document."""


class ProposalState(StrEnum):
    """The state of a proposal. All but OPEN are final."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class Person(Struct, frozen=True):
    """The facts about an account that decide what it may do with proposals."""

    email: str
    role: Role
    active: bool

    def may_change(self, section: str) -> bool:
        """Whether the account may change the section, as far as its role goes."""
        return self.active and self.role.may_act_as(needed_role(section))


class Proposal(Struct, frozen=True):
    """A change that waits for a second person, or did.

    ``input`` is what the proposer entered, as JSON text, so that the change can be planned again from the
    current rows. It includes the fingerprint of the rows that it was based on. ``secret`` is the hash of a
    password or token that is valid from the approval on; None once the proposal is closed. ``changes`` are
    the rows before and after, as they were previewed (``app.audit.rules.records.changes_text``).
    ``record_id`` is the audit record of the change that was made.
    """

    id: int
    kind: str
    section: str
    subject: str
    summary: str
    input: str
    secret: str | None
    changes: str
    reason: str
    state: ProposalState
    proposed_by: str
    proposed_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    decision_reason: str
    record_id: int | None

    @property
    def given(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self.input)
        return values

    def state_at(self, now: datetime) -> ProposalState:
        """The state. An open proposal has expired at its end, even if that is not stored yet."""
        ended = self.state is ProposalState.OPEN and self.expires_at <= now
        return ProposalState.EXPIRED if ended else self.state

    def by_two(self, approver: str) -> str:
        """Both persons, for the record of the change that is made."""
        return f"proposed by {self.proposed_by}, approved by {approver} (proposal {self.id})"


def why_not_approve(proposal: Proposal, proposer: Person | None, approver: Person | None) -> str | None:
    """Why this person may not approve the proposal, in a sentence; None where they may.

    :param proposer: the account that proposed, as it is now.
    """
    if approver is not None and approver.email == proposal.proposed_by:
        return "You proposed this change. Someone else has to approve it."
    if approver is None or not approver.may_change(proposal.section):
        return f"To approve it, an account needs the role {needed_role(proposal.section)}."
    if proposer is None or not proposer.may_change(proposal.section):
        return f"{proposal.proposed_by} may no longer make this change. Propose it yourself."
    return None


def why_not_reject(proposal: Proposal, person: Person | None) -> str | None:
    """Why this person may not reject the proposal; None where they may."""
    if person is not None and person.email == proposal.proposed_by:
        return "You proposed this change. Withdraw it instead."
    if person is None or not person.may_change(proposal.section):
        return f"To reject it, an account needs the role {needed_role(proposal.section)}."
    return None


def why_not_withdraw(proposal: Proposal, person: Person | None) -> str | None:
    """Why this person may not withdraw the proposal; None where they may."""
    if person is None or not person.active or person.email != proposal.proposed_by:
        return f"Only {proposal.proposed_by} can withdraw it. Reject it instead."
    return None
