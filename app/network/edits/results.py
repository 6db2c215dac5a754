"""What an edit of the configuration would do, and the reasons for which it is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct

from app.audit.records import AuditedChange
from app.audit.services import EditRefused
from app.values.amounts import grouped
from app.values.differences import FieldDifference


class Severity(IntEnum):
    """How serious an effect is."""

    PLAIN = 0
    NOTICE = 1
    GRAVE = 2


class Effect(Struct, frozen=True):
    """One consequence in words; ``details`` are its parts, a line each.

    ``transfer_ids`` are the last transfers that it is about, the newest first.
    """

    text: str
    severity: Severity = Severity.NOTICE
    details: tuple[str, ...] = ()
    transfer_ids: tuple[bytes, ...] = ()


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
    """What an edit would do. Without ``changes`` it would do nothing.

    ``needs_typed``: a name that has to be typed before the edit is saved. With ``waits`` it is not saved
    but proposed to a second operator. ``audited`` are the rows before and after, where several are edited
    together; ``fingerprint`` is of the present rows, which the save sends back. ``trials`` are those of the
    routes that it opens or changes, those with a warning first. ``risks`` sums up the rates that the typed
    name confirms, which the save sends back.
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


class FieldError(Struct, frozen=True):
    """An error of a value. ``path`` is empty, or such as ``perc_fee_tiers[1].ppm``.

    ``edit`` is the number of the edit that it is about, where several are made together.
    """

    path: str
    message: str
    edit: int = 0

    @property
    def field(self) -> str:
        """The field of the document's row that the path is in; empty for the row as a whole."""
        return self.path.partition(".")[0].partition("[")[0]

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Invalid(EditRefused):
    """Values that cannot be saved."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))

    def first_of_each(self) -> tuple[FieldError, ...]:
        """The errors without repetition, where several rows have the same one."""
        return tuple({(error.path, error.message): error for error in reversed(self.errors)}.values())


class NotConfirmed(EditRefused):
    """The name ``needs_typed`` had to be typed, but was not."""

    def __init__(self, needs_typed: str) -> None:
        super().__init__(f"type {needs_typed} to confirm")
        self.needs_typed = needs_typed


class RatesMoved(EditRefused):
    """The name was typed for other rates: pools have moved since they were shown."""

    def __init__(self) -> None:
        super().__init__("pools have moved since the trial estimates were shown: check them again")


class RowUsers(Struct, frozen=True):
    """What uses a row: the number of a kind, exact or at least, and the names of the first of them."""

    kind: str
    count: int
    names: tuple[str, ...]
    at_least: bool = False

    @property
    def title(self) -> str:
        """How many of which kind."""
        return f"{'over ' if self.at_least else ''}{counted(self.count, self.kind)}"

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.names)

    def __str__(self) -> str:
        names = ", ".join(self.names) + (f" and {grouped(self.more)} more" if self.more > 0 else "")
        return f"{self.title} ({names})"


class InUse(EditRefused):
    """A row that others use cannot be removed. ``advice`` is what to do instead."""

    def __init__(self, subject: str, users: tuple[RowUsers, ...], advice: str) -> None:
        used = "; ".join(map(str, users))
        super().__init__(f"{subject} cannot be removed: it is used by {used}. {advice}")
        self.subject, self.users, self.advice = subject, users, advice


def counted(count: int, kind: str, plural: str = "") -> str:
    """The number with its noun in the singular or plural: ``1 route``, ``1 204 transfers``."""
    return f"{grouped(count)} {kind}" if count == 1 else f"{grouped(count)} {plural or f'{kind}s'}"
