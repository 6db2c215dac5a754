"""Changes that wait for a second person: stored, listed, closed, or made without one for a reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, insert, update

from app.accounts import models as table
from app.accounts.queries import (
    count_waiting,
    decided_by_others,
    expired_unnoticed,
    proposal_by_id,
    proposals_page,
    waiting_about,
    waiting_proposals,
)
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import ADMINISTERED, Proposal, ProposalState, TwoPersons, needed_role
from app.accounts.services.planned_changes import PlannedChange
from app.audit.keys import AuditKeys
from app.audit.models import SUBJECT_LENGTH
from app.audit.rules.records import Actor, AuditedChange, changes_text, read_changes
from app.audit.services import Conflict, EditRefused, Saved, record
from app.db.database import Database
from app.db.engine import reading, writing
from app.values.differences import FieldDifference, difference
from app.values.texts import one_line
from app.values.times import rfc3339


class SecondPersonNeeded(EditRefused):
    """A change of sections that ``TWO_PERSONS`` names lacks the approval of a second person. Nothing has
    changed.
    """

    def __init__(self, sections: Collection[str]) -> None:
        self.sections = tuple(sections)
        super().__init__(
            f"TWO_PERSONS requires a second approval for changes of {', '.join(self.sections)}: "
            "propose the change in the console, or give --break-glass REASON, which the audit log stores"
        )


class ReasonMissing(EditRefused):
    """A proposal, or a decision about one, lacks its reason."""

    def __init__(self) -> None:
        super().__init__("enter a reason of at most 500 characters; it is shown to the person who approves")


class TooManyProposals(EditRefused):
    """One account has too many proposals open."""


class ProposalRefused(EditRefused):
    """This person may not decide about the proposal, or it is closed. The message says why."""


LONGEST_REASON: Final = 500

_DAY: Final = timedelta(days=1)

MOST_OPEN: Final = 100
"""How many proposals of one account may be open, so that it cannot fill the list for all."""


def carry_out(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    actor: Actor,
    planned: PlannedChange,
    *,
    reason: str | None = None,
    break_glass: str | None = None,
) -> Saved:
    """Make a planned change; where it waits for a second person (``TWO_PERSONS``), propose it.

    :param reason: why, for the second person; None where it cannot be proposed.
    :param break_glass: why it is then made without a second person.
    :raises SecondPersonNeeded: it waits, and neither is given.
    :raises ReasonMissing: the one that is given is empty or too long.
    :raises TooManyProposals: the account has too many open already.
    """
    if not planned.changes:
        return Saved((), None)
    guarded = planned.guarded(two_persons)
    if guarded and reason is not None:
        return _propose(connection, database, audit_keys, two_persons, actor, planned, reason)
    _record_break_glass(
        connection, database, audit_keys, actor, guarded, subject=planned.subject, break_glass=break_glass
    )
    return planned.run(connection, database, audit_keys, actor)


def _propose(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    actor: Actor,
    planned: PlannedChange,
    reason: str,
) -> Saved:
    """Store the change for a second person, in the transaction in which it was planned, and record it.

    :raises ReasonMissing: there is no reason, or it is too long.
    :raises TooManyProposals: the account has too many open already.
    """
    why, now = checked_reason(reason), database.clock()
    if count_waiting(connection, now, proposed_by=actor.name) >= MOST_OPEN:
        raise TooManyProposals(
            f"you have {MOST_OPEN} open proposals, the maximum; withdraw one before you propose another"
        )
    values = {
        "kind": planned.kind,
        "section": planned.guarded(two_persons)[0],
        "subject": planned.subject[:SUBJECT_LENGTH],
        "summary": planned.summary,
        "input": orjson.dumps(planned.input).decode(),
        "secret": planned.secret,
        "changes": changes_text(planned.changes),
        "reason": why,
        "state": ProposalState.OPEN.value,
        "proposed_by": actor.name,
        "proposed_at": now,
        "expires_at": now + two_persons.lifetime,
        "decision_reason": "",
    }
    (proposal_id,) = connection.execute(insert(table.Proposal).values(values)).inserted_primary_key or (0,)
    record_id = record(
        connection, audit_keys, actor, "two_persons.propose", f"proposal {proposal_id}",
        now=now, detail=f"{planned.summary}; reason: {why}", changes=planned.changes,
    )  # fmt: skip
    return Saved((planned.summary,), record_id, proposal_id)


def require_as_proposed(proposal: Proposal, now: Sequence[AuditedChange]) -> None:
    """Make sure that the change would do exactly what its proposer saw in the preview.

    :param now: the change, planned from the current rows.
    :raises Conflict: with what differs from the rows that it was based on.
    """
    if changes_text(now) != proposal.changes:
        raise changed_since(proposal, tuple(_meanwhile(read_changes(proposal.changes), now)))


def changed_since(proposal: Proposal, meanwhile: tuple[FieldDifference, ...]) -> Conflict:
    """The conflict of a proposal with what changed since, in words for its approver."""
    gone = bool(meanwhile) and all(each.after is None for each in meanwhile)
    what = "removed" if gone else "changed"
    return Conflict(
        f"{proposal.subject} was {what} since this was proposed; propose it again from the current values",
        meanwhile,
    )


def _meanwhile(then: Sequence[AuditedChange], now: Sequence[AuditedChange]) -> Iterator[FieldDifference]:
    """How the rows before the change differ from those that it was based on."""
    found = {change.subject: change.before for change in now}
    for change in then:
        for each in difference(change.before, found.get(change.subject)):
            name = each.field if len(then) == 1 else f"{change.subject}: {each.field}"
            yield FieldDifference(name, each.before, each.after)


def require_open(connection: Connection, proposal_id: int, now: datetime) -> Proposal:
    """The proposal, still to be decided.

    :param connection: of the writer: the proposal cannot change before its transaction ends.
    :raises ProposalRefused: it has expired, or it is already decided; or there is none.
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


def close_proposal(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    proposal: Proposal,
    state: ProposalState,
    actor: Actor,
    *,
    reason: str = "",
    made: Saved | None = None,
) -> Saved:
    """Give an open proposal its final state and record it. Hashes of passwords and tokens are deleted.

    Returns what the approval changed; without an approval, the closing itself with its record.

    :param made: what the approval changed.
    """
    now = database.clock()
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
        connection, audit_keys, actor, f"two_persons.{verb}", f"proposal {proposal.id}",
        now=now, detail=f"{detail}; reason: {reason}" if reason else detail,
        changes=[AuditedChange(f"proposal {proposal.id}", before, after)],
    )  # fmt: skip
    return made or Saved((f"proposal {proposal.id} is {state}",), record_id, proposal.id)


def note_expired(database: Database, audit_keys: AuditKeys, actor: Actor) -> None:
    """Close the proposals whose time is over, and record that each has expired.

    Pages and decisions about proposals call this: no job runs for it. An expired proposal cannot be approved,
    closed or not.
    """
    now = database.clock()
    with reading(database.reads) as connection:
        if not expired_unnoticed(connection, now):
            return
    with writing(database.engine) as connection:
        for proposal_id in expired_unnoticed(connection, now):
            proposal = proposal_by_id(connection, proposal_id)
            if proposal is not None:
                reason = f"its time ended at {rfc3339(proposal.expires_at, 'seconds')}"
                close_proposal(
                    connection, database, audit_keys, proposal, ProposalState.EXPIRED, actor, reason=reason
                )


def checked_reason(reason: str) -> str:
    """The reason in one line.

    :raises ReasonMissing: it is empty or too long.
    """
    line = one_line(reason)
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
    """What the audit log has of a proposal's state. The change itself is in the record of the proposal."""
    return {
        "state": proposal.state.value,
        "section": proposal.section,
        "proposed_by": proposal.proposed_by,
        "decided_by": decided_by,
    }


class ProposalPage(Struct, frozen=True):
    """Proposals, newest first; ``older`` is the id before which the next page begins."""

    proposals: list[Proposal]
    older: int | None


def list_waiting(database: Database, role: Role) -> list[Proposal]:
    """The proposals that wait for a decision, the one that expires first at the top."""
    with reading(database.reads) as connection:
        return waiting_proposals(connection, _hidden(role), database.clock())


def list_waiting_about(
    database: Database, two_persons: TwoPersons, role: Role, subject: str
) -> list[Proposal]:
    """The proposals that would change this row. Sends no query if ``TWO_PERSONS`` is empty."""
    if not two_persons.sections:
        return []
    with reading(database.reads) as connection:
        found = waiting_about(connection, subject, database.clock())
    return [each for each in found if each.section not in _hidden(role)]


def list_decided(database: Database, two_persons: TwoPersons, proposed_by: str) -> list[Proposal]:
    """An account's proposals that others decided, or that expired, in the last day; the newest first."""
    if not two_persons.sections:
        return []
    with reading(database.reads) as connection:
        return decided_by_others(connection, proposed_by, database.clock() - _DAY)


def list_all(database: Database, role: Role, before: int | None, limit: int) -> ProposalPage:
    """A page of all proposals."""
    with reading(database.reads) as connection:
        found = proposals_page(connection, _hidden(role), before, limit + 1)
    return ProposalPage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def show_proposal(database: Database, role: Role, proposal_id: int) -> Proposal | None:
    """One proposal; None where there is none, or it is of a section that the role may not see."""
    with reading(database.reads) as connection:
        proposal = proposal_by_id(connection, proposal_id)
    return None if proposal is None or proposal.section in _hidden(role) else proposal


def waiting_count(database: Database, two_persons: TwoPersons, role: Role) -> int:
    """How many proposals wait. Sends no query if ``TWO_PERSONS`` is empty."""
    if not two_persons.sections:
        return 0
    now: datetime = database.clock()
    with reading(database.reads) as connection:
        return count_waiting(connection, now, _hidden(role))


def _hidden(role: Role) -> frozenset[str]:
    """The sections that the role does not see."""
    return frozenset(name for name in ADMINISTERED if not role.may_act_as(needed_role(name)))


def _record_break_glass(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    actor: Actor,
    sections: Collection[str],
    *,
    subject: str,
    break_glass: str | None,
) -> None:
    """Let one person change these guarded sections only for a reason, which is recorded before the change.

    :param sections: those that ``TWO_PERSONS`` names; without any, no reason is needed.
    :param break_glass: the reason, None where none is given.
    :raises SecondPersonNeeded: it is not given. The caller's transaction must then not commit.
    :raises ReasonMissing: it is empty or too long.
    """
    if not sections:
        return
    if break_glass is None:
        raise SecondPersonNeeded(sections)
    now: datetime = database.clock()
    detail = f"one person changed {', '.join(sections)}; reason: {checked_reason(break_glass)}"
    record(connection, audit_keys, actor, "two_persons.break_glass", subject, now=now, detail=detail)
