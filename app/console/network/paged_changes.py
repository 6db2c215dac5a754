"""Many changes on a page: counts by section, and some rows at a time. A page must not grow with its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from app.audit.rules.records import AuditedChange
from app.console.network.change_words import DescribedChange, described_change
from app.console.shell.row_pages import RowsPage, some_rows, wanted_section
from app.cooperation import in_turns
from app.network.sections import section_of

MOST_LINES: Final = 40
"""Fields of a row that are shown where a page has several rows. Only rows with long lists have more."""

OTHER: Final = "other"
"""In place of a section, for changes of accounts, keys and other things that are no rows of the network."""


class SectionCount(Struct, frozen=True):
    """How many rows of a section changed."""

    name: str
    added: int
    changed: int
    removed: int

    @property
    def label(self) -> str:
        """The section for people."""
        return self.name.replace("_", " ")

    @property
    def total(self) -> int:
        """All of them."""
        return self.added + self.changed + self.removed


class ChangesPage(RowsPage[tuple[int, AuditedChange]], frozen=True, kw_only=True):
    """Some changes of many, each with its index among all of them. ``counts`` are of all changes."""

    counts: Sequence[SectionCount]
    described: Sequence[DescribedChange]

    @property
    def all_rows(self) -> int:
        """The number of all changes."""
        return sum(count.total for count in self.counts)


def changes_page(changes: Sequence[AuditedChange]) -> ChangesPage:
    """The page of changes that the request names.

    All changes are counted, which takes some microseconds each. Only those of the page are described.
    """
    names = [found.name if (found := section_of(c.subject, c.row)) else OTHER for c in in_turns(changes)]
    section = next((name for name in names if name == wanted_section()), None)
    chosen = [number for number, name in enumerate(names) if section in (None, name)]
    page = some_rows(chosen, section=section)
    most = MOST_LINES if len(page.rows) > 1 else None
    return ChangesPage(
        rows=[(number, changes[number]) for number in page.rows],
        total=page.total,
        page=page.page,
        size=page.size,
        section=section,
        counts=_counts(names, changes),
        described=[described_change(changes[number], most) for number in page.rows],
    )


def _counts(names: Sequence[str], changes: Sequence[AuditedChange]) -> list[SectionCount]:
    kinds = [
        "added" if change.before is None else "removed" if change.after is None else "changed"
        for change in changes
    ]
    found = Counter(zip(names, kinds, strict=True))
    return [
        SectionCount(name, *(found[name, kind] for kind in ("added", "changed", "removed")))
        for name in dict.fromkeys(names)
    ]
