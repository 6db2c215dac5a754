"""The reasons for which an edit of the configuration is refused."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from app.audit.services import EditRefused
from app.values.amounts import grouped


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


class RatesMoved(EditRefused):
    """The name was typed for other rates: pools have moved since they were shown."""

    def __init__(self) -> None:
        super().__init__("pools have moved since the trial estimates were shown: check them again")


class RowUsers(Struct, frozen=True):
    """The users of a row: the number of a kind, exact or at least, and the names of the first of them."""

    kind: str
    count: int
    names: tuple[str, ...]
    at_least: bool = False

    @property
    def title(self) -> str:
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
