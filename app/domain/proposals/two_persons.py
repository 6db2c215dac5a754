"""Which parts of the configuration one person alone may not change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from app.domain.operators import Role

OPERATORS: Final = "operators"
"""The accounts of the console, beside the sections of the network document."""

INGEST_TOKENS: Final = "ingest_tokens"
"""The tokens of reporters."""

API_KEYS: Final = "api_keys"
"""The keys of integrators."""

REPORTED: Final = frozenset({"pools", "routes", "validators"})
"""Sections that the feed adds to or outranks: counters, base fees, validator sets. Whoever makes a token can
change them by reporting (docs/console.md#two-persons)."""

ADMINISTERED: Final = frozenset({OPERATORS, INGEST_TOKENS, API_KEYS})
"""What administrators alone change; nobody else sees what is proposed."""


@dataclass(frozen=True, slots=True)
class TwoPersons:
    """The sections whose changes wait for a second person, and how long a proposal can be approved.

    A section that the feed changes implies ``INGEST_TOKENS``: a token made alone would change it alone.
    """

    sections: frozenset[str] = frozenset()
    lifetime: timedelta = timedelta(hours=72)

    def __post_init__(self) -> None:
        if self.sections & REPORTED:
            object.__setattr__(self, "sections", self.sections | {INGEST_TOKENS})

    def guards(self, section: str) -> bool:
        """Whether changes of the section wait."""
        return section in self.sections


NOBODY_WAITS: Final = TwoPersons()
"""One person is enough for everything."""


def needed_role(section: str) -> Role:
    """The role that a change of the section needs, of whoever proposes it and of whoever approves it."""
    return Role.ADMIN if section in ADMINISTERED else Role.OPERATOR
