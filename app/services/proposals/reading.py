"""Shows proposals to those who may see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.db.engine import reading
from app.domain.operators import Role
from app.domain.proposals.proposal import Proposal
from app.domain.proposals.two_persons import ADMINISTERED, needed_role
from app.queries.proposals import count_waiting, proposal_by_id, proposals_page, waiting_proposals
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """Proposals, newest first; ``older`` is the id before which the next page begins."""

    proposals: list[Proposal]
    older: int | None


def list_waiting(gateway: Gateway, role: Role) -> list[Proposal]:
    """The proposals that wait for a decision, the one that expires first at the top."""
    with reading(gateway.reads) as connection:
        return waiting_proposals(connection, _hidden(role), gateway.clock())


def list_all(gateway: Gateway, role: Role, before: int | None, limit: int) -> ProposalPage:
    """A page of all proposals."""
    with reading(gateway.reads) as connection:
        found = proposals_page(connection, _hidden(role), before, limit + 1)
    return ProposalPage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def show_proposal(gateway: Gateway, role: Role, proposal_id: int) -> Proposal | None:
    """One proposal; None where there is none, or it is of a section that the role may not see."""
    with reading(gateway.reads) as connection:
        proposal = proposal_by_id(connection, proposal_id)
    return None if proposal is None or proposal.section in _hidden(role) else proposal


def waiting_count(gateway: Gateway, role: Role) -> int:
    """How many proposals wait; no database is asked where ``TWO_PERSONS`` names nothing."""
    if not gateway.two_persons.sections:
        return 0
    now: datetime = gateway.clock()
    with reading(gateway.reads) as connection:
        return count_waiting(connection, now, _hidden(role))


def _hidden(role: Role) -> frozenset[str]:
    """The sections that the role does not see."""
    return frozenset(name for name in ADMINISTERED if not role.may_act_as(needed_role(name)))
