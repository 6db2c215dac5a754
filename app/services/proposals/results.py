"""Why a change is not made by one person alone, or a proposal is not decided."""

from __future__ import annotations

from collections.abc import Collection

from app.services.audit.results import EditRefused


class SecondPersonNeeded(EditRefused):
    """A change of sections that ``TWO_PERSONS`` names, approved by nobody else. Nothing has changed."""

    def __init__(self, sections: Collection[str]) -> None:
        self.sections = tuple(sections)
        super().__init__(
            f"this changes {', '.join(self.sections)}, and TWO_PERSONS has a second operator approve that: "
            "propose it in the console, or give --break-glass REASON, which the audit log keeps"
        )


class ReasonMissing(EditRefused):
    """A proposal, or a decision about one, without the reason for it."""

    def __init__(self) -> None:
        super().__init__("say why, in at most 500 characters: the other operator reads it, and the audit log")


class TooManyProposals(EditRefused):
    """One account has too many proposals open."""


class ProposalRefused(EditRefused):
    """Why a proposal is not approved, rejected or withdrawn by this person, or not any more."""
