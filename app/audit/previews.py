"""The effects of a change in words, before an operator confirms it."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum

from msgspec import Struct

from app.audit.rules.records import AuditedChange
from app.values.differences import FieldDifference


class Severity(IntEnum):
    """How serious an effect is."""

    PLAIN = 0
    NOTICE = 1
    GRAVE = 2


class Effect(Struct, frozen=True):
    """One consequence in words; ``details`` are its parts, a line each."""

    text: str
    severity: Severity = Severity.NOTICE
    details: tuple[str, ...] = ()


class TrialFigures(Struct, frozen=True):
    """What an amount brings on a route before and after a change, in words; empty where it brings nothing."""

    sent: str
    before: str
    after: str


class TriedRoute(Struct, frozen=True):
    """The trial estimates of a route that a change opens or changes.

    ``warnings`` are what is wrong with its rate; with ``high_impact`` the change has to be confirmed.
    ``refused`` is the condition that no amount meets; without it there are figures of a small amount and of
    the largest.
    """

    name: str
    figures: tuple[TrialFigures, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: str = ""
    high_impact: bool = False


class Preview(Struct, frozen=True):
    """The effects of an edit. Without ``changes`` it has none.

    ``needs_typed``: a name that has to be typed before the edit is saved. With ``waits`` it is not saved
    but proposed to a second operator. ``audited`` are the rows before and after; ``fingerprint`` is of the
    present rows, which the save sends back. ``trials`` are those of the routes that it opens or changes,
    those with a warning first. ``risks`` sums up the rates that the typed name confirms, which the save sends
    back.
    """

    subject: str
    changes: tuple[str, ...]
    differences: tuple[FieldDifference, ...]
    effects: tuple[Effect, ...]
    needs_typed: str | None = None
    waits: bool = False
    audited: tuple[AuditedChange, ...] = ()
    fingerprint: str = ""
    trials: tuple[TriedRoute, ...] = ()
    risks: str = ""

    @property
    def severity(self) -> Severity:
        """The severity of the most serious effect; a trial with high impact is as serious as any."""
        if any(tried.high_impact for tried in self.trials):
            return Severity.GRAVE
        return max((effect.severity for effect in self.effects), default=Severity.PLAIN)

    @property
    def distinct_effects(self) -> list[tuple[Effect, int]]:
        """The effects, each once, and how often: many rows may have the same one."""
        return list(Counter(self.effects).items())
