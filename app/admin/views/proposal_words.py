"""What the pages of proposals show: each change in the words of its own form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.admin.forms.rows import DiffLine, RowForm
from app.admin.network_names import row_title
from app.domain.audit import AuditedChange, read_changes
from app.domain.difference import FieldDifference, difference
from app.domain.proposals.proposal import ONE_ROW, Proposal, ProposalState
from app.domain.proposals.two_persons import ADMINISTERED
from app.services.network.sections import section_of

TONES: Final = {
    ProposalState.OPEN: "warn",
    ProposalState.APPROVED: "good",
    ProposalState.REJECTED: "bad",
    ProposalState.WITHDRAWN: "plain",
    ProposalState.EXPIRED: "plain",
}
_LABELS: Final = {
    "email": "Email",
    "role": "Role",
    "active": "May sign in",
    "second_factor": "Second factor",
    "second_factor_required": "Needs a second factor",
    "must_change_password": "Must change the password",
    "demanded": "Required",
    "name": "Name",
    "key_id": "Key ID",
    "types": "Event types",
    "chains": "Chains",
    "scopes": "Scopes",
    "rate_limit": "Limit",
}
_VALUES: Final = {"true": "yes", "false": "no", "null": "all"}
"""How values of accounts, tokens and keys are said; no kind or chain named means all."""


@dataclass(frozen=True, slots=True)
class RowWords:
    """How the rows of a section are called, and their form."""

    one: str
    form: type[RowForm]


Words = Mapping[str, RowWords]
"""By section of the network document."""


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """A proposal in a list."""

    proposal: Proposal
    title: str
    section: str
    state: ProposalState
    tone: str


def line_of(proposal: Proposal, now: datetime, words: Words) -> ProposalLine:
    """The proposal as lists show it."""
    state = proposal.state_at(now)
    return ProposalLine(
        proposal, title_of(proposal, words), proposal.section.replace("_", " "), state, TONES[state]
    )


def title_of(proposal: Proposal, words: Words) -> str:
    """The change in a few words, rows by the names of their chains."""
    if proposal.kind != ONE_ROW or proposal.section not in words:
        return proposal.summary[:1].upper() + proposal.summary[1:]
    (change,) = read_changes(proposal.changes)
    verb = "Add" if change.before is None else "Remove" if change.after is None else "Change"
    return f"{verb} {row_title(words[proposal.section].one, change.before or change.after or {})}"


def heading_of(proposal: Proposal) -> str:
    """The heading of the differences."""
    changes = read_changes(proposal.changes)
    if all(change.before is None for change in changes):
        return "Added"
    return "Removed" if all(change.after is None for change in changes) else "Changed"


def changes_in_words(proposal: Proposal, words: Words) -> list[tuple[str, list[DiffLine]]]:
    """The changes as they were proposed: what each is about, and its fields."""
    return [
        (change.subject, in_words(proposal, difference(change.before, change.after), words, change))
        for change in read_changes(proposal.changes)
    ]


def in_words(
    proposal: Proposal,
    differences: Iterable[FieldDifference],
    words: Words,
    change: AuditedChange | None = None,
) -> list[DiffLine]:
    """Differences with the labels of the form, units and names beside the values."""
    if proposal.section in ADMINISTERED:
        return [_line(each) for each in sorted(differences, key=_place)]
    if change is None:
        change = read_changes(proposal.changes)[0]
    row = {**(change.before or {}), **(change.after or {})}
    of = section_of(change.subject, row)
    section = words.get(of.name) if of else None
    if section is None:  # a section that is edited by the document alone
        return [DiffLine(each.field, each.before, each.after, "", "") for each in differences]
    return section.form(formdata=None, row=row).in_words(differences)


def administered(differences: Iterable[DiffLine]) -> list[DiffLine]:
    """Fields of an account or a token with their labels, where a table has them by their names."""
    lines = (FieldDifference(each.label, each.before, each.after) for each in differences)
    return [_line(each) for each in sorted(lines, key=_place)]


def _place(each: FieldDifference) -> int:
    """Where a field of an account or a token stands: as in ``_LABELS``."""
    key = each.field.partition("[")[0]
    return [*_LABELS, key].index(key)


def _line(each: FieldDifference) -> DiffLine:
    """A field of an account or a token."""
    key, bracket, rest = each.field.partition("[")
    label = _LABELS.get(key, key) + (f" {bracket}{rest}" if bracket else "")
    before, after = (_VALUES.get(text, text) if text else text for text in (each.before, each.after))
    return DiffLine(label, before, after, "", "")
