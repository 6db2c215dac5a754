"""Whether a proposed change is still the one that was proposed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.audit import AuditedChange, changes_text, read_changes
from app.domain.difference import FieldDifference, difference
from app.domain.proposals.proposal import Proposal
from app.services.audit.results import Conflict


def require_as_proposed(proposal: Proposal, now: Sequence[AuditedChange]) -> None:
    """Make sure that the change would do exactly what it did when it was previewed for its proposer.

    :param now: the change as it comes out of the rows of now.
    :raises Conflict: with what differs from the rows that it was based on.
    """
    if changes_text(now) != proposal.changes:
        raise changed_since(proposal, tuple(_meanwhile(read_changes(proposal.changes), now)))


def changed_since(proposal: Proposal, meanwhile: tuple[FieldDifference, ...]) -> Conflict:
    """The conflict of a proposal with what changed since, in words for the one who would approve it."""
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
