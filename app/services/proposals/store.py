"""Keeps proposals: adds them, closes them, and notices those that have expired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import Connection, insert, update

from app.db.engine import reading, writing
from app.domain.audit import Actor, AuditedChange, changes_text
from app.domain.proposals.proposal import Proposal, ProposalState
from app.domain.times import rfc3339
from app.models import proposals as table
from app.models.audit import SUBJECT_LENGTH
from app.queries.proposals import count_waiting, expired_unnoticed, proposal_by_id
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.audit.results import Saved
from app.services.proposals.results import ProposalRefused, ReasonMissing, TooManyProposals

LONGEST_REASON: Final = 500

MOST_OPEN: Final = 100
"""How many proposals of one account may be open, so that nobody fills the list for all."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A change to propose: the fields of ``Proposal`` that its planning knows."""

    kind: str
    section: str
    subject: str
    summary: str
    input: Mapping[str, Any]
    changes: Sequence[AuditedChange]
    secret: str | None = None


def propose(connection: Connection, gateway: Gateway, actor: Actor, draft: Draft, reason: str) -> Saved:
    """Keep the change for a second person, in the transaction in which it was planned, and record it.

    :raises ReasonMissing: there is no reason, or it is too long.
    :raises TooManyProposals: the account has too many open already.
    """
    why, now = stated(reason), gateway.clock()
    if count_waiting(connection, now, proposed_by=actor.name) >= MOST_OPEN:
        raise TooManyProposals(
            f"you have {MOST_OPEN} open proposals, the maximum; withdraw one before you propose another"
        )
    values = {
        "kind": draft.kind,
        "section": draft.section,
        "subject": draft.subject[:SUBJECT_LENGTH],
        "summary": draft.summary,
        "input": orjson.dumps(draft.input).decode(),
        "secret": draft.secret,
        "changes": changes_text(draft.changes),
        "reason": why,
        "state": ProposalState.OPEN.value,
        "proposed_by": actor.name,
        "proposed_at": now,
        "expires_at": now + gateway.two_persons.lifetime,
        "decision_reason": "",
    }
    (proposal_id,) = connection.execute(insert(table.Proposal).values(values)).inserted_primary_key or (0,)
    record_id = record(
        connection, gateway.audit_keys, actor, "two_persons.propose", f"proposal {proposal_id}",
        now=now, detail=f"{draft.summary}; reason: {why}", changes=draft.changes,
    )  # fmt: skip
    return Saved((draft.summary,), record_id, proposal_id)


def require_open(connection: Connection, proposal_id: int, now: datetime) -> Proposal:
    """The proposal, still to be decided.

    :param connection: of the writer: nobody else decides before its transaction ends.
    :raises ProposalRefused: it has expired, or somebody has decided already; or there is none.
    """
    proposal = proposal_by_id(connection, proposal_id)
    if proposal is None:
        raise ProposalRefused("this proposal does not exist")
    state = proposal.state_at(now)
    if state is ProposalState.EXPIRED:
        raise ProposalRefused(f"proposal {proposal_id} has expired; propose the change again")
    if state is not ProposalState.OPEN:
        raise ProposalRefused(f"proposal {proposal_id} was already {state} by {proposal.decided_by}")
    return proposal


def close(
    connection: Connection,
    gateway: Gateway,
    proposal: Proposal,
    state: ProposalState,
    actor: Actor,
    *,
    reason: str = "",
    made: Saved | None = None,
) -> Saved:
    """Give an open proposal its final state and record it. Hashes of passwords and tokens are forgotten.

    :param made: what the approval changed.
    """
    now = gateway.clock()
    connection.execute(
        update(table.Proposal)
        .where(table.Proposal.id == proposal.id)
        .values(
            state=state.value,
            secret=None,
            decided_by=None if state is ProposalState.EXPIRED else actor.name,
            decided_at=now,
            decision_reason=reason,
            record_id=made.record_id if made else None,
        )
    )
    before = _documented(proposal, None)
    after = _documented(replace(proposal, state=state), actor.name)
    verb = _VERBS[state]
    words = f"{state} by {actor.name}" if state is not ProposalState.EXPIRED else "expired"
    detail = f"{words}, proposed by {proposal.proposed_by}: {proposal.summary}"
    record_id = record(
        connection, gateway.audit_keys, actor, f"two_persons.{verb}", f"proposal {proposal.id}",
        now=now, detail=f"{detail}; reason: {reason}" if reason else detail,
        changes=[AuditedChange(f"proposal {proposal.id}", before, after)],
    )  # fmt: skip
    return made or Saved((f"proposal {proposal.id} is {state}",), record_id, proposal.id)


def note_expired(gateway: Gateway, actor: Actor) -> None:
    """Close the proposals whose time is over, and record that each has expired.

    Whoever looks at proposals or decides about one notices: no job runs for it. An expired proposal
    cannot be approved, noticed or not.
    """
    now = gateway.clock()
    with reading(gateway.reads) as connection:
        if not expired_unnoticed(connection, now):
            return
    with writing(gateway.engine) as connection:
        for proposal_id in expired_unnoticed(connection, now):
            proposal = proposal_by_id(connection, proposal_id)
            if proposal is not None:
                reason = f"its time ended at {rfc3339(proposal.expires_at, 'seconds')}"
                close(connection, gateway, proposal, ProposalState.EXPIRED, actor, reason=reason)


def stated(reason: str) -> str:
    """The reason in one line.

    :raises ReasonMissing: it is empty or too long.
    """
    line = " ".join(reason.replace("\0", " ").split())
    if not line or len(line) > LONGEST_REASON:
        raise ReasonMissing
    return line


_VERBS: Final = {
    ProposalState.APPROVED: "approve",
    ProposalState.REJECTED: "reject",
    ProposalState.WITHDRAWN: "withdraw",
    ProposalState.EXPIRED: "expire",
}


def _documented(proposal: Proposal, decided_by: str | None) -> dict[str, Any]:
    """What the audit log keeps of a proposal's state; the change itself stands in the record of proposing."""
    return {
        "state": proposal.state.value,
        "section": proposal.section,
        "proposed_by": proposal.proposed_by,
        "decided_by": decided_by,
    }
