"""Many changes on a page: counts by section, and some rows at a time. A page must not grow with its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from flask import request
from msgspec import Struct

from app.audit.records import AuditedChange
from app.console.caller import read_id
from app.cooperation import in_turns
from app.network.admin.change_words import DescribedChange, described_change
from app.network.sections import section_of

ROWS: Final = 25
"""Rows of a page."""

ROWS_OF: Final = "rows"
"""The argument that names a page, in an address and in a form."""

_ALL: Final = "all"

MOST_LINES: Final = 40
"""Fields of a row that are shown where a page has several rows. Rows with more are rare: they have long lists."""


class SectionCount(Struct, frozen=True):
    """How many rows of a section changed. ``name`` is empty for what is no row of the network."""

    name: str
    added: int
    changed: int
    removed: int

    @property
    def label(self) -> str:
        """The section for people."""
        return self.name.replace("_", " ") or "other"

    @property
    def total(self) -> int:
        """All of them."""
        return self.added + self.changed + self.removed


class ChangesPage(Struct, frozen=True):
    """Some changes of many. ``counts`` are of all of them, ``rows`` and ``total`` of the chosen section.

    :ivar section: the chosen section; None for all of them.
    :ivar rows: the changes on this page, each with its index among all changes.
    :ivar page: the number of this page, from 1.
    """

    counts: Sequence[SectionCount]
    section: str | None
    rows: Sequence[tuple[int, AuditedChange]]
    described: Sequence[DescribedChange]
    total: int
    page: int

    @property
    def pages(self) -> int:
        """How many pages the chosen section has."""
        return _pages(self.total)

    @property
    def all_rows(self) -> int:
        """The number of all changes."""
        return sum(count.total for count in self.counts)

    @property
    def first(self) -> int:
        """The number of this page's first row, from 1."""
        return (self.page - 1) * ROWS + 1

    @staticmethod
    def key(section: str | None, page: int = 1) -> str:
        """How an address or a form names a page: ``routes:2``, ``all:2``."""
        return f"{_ALL if section is None else section}:{page}"


def changes_page(changes: Sequence[AuditedChange]) -> ChangesPage:
    """The page of changes that the request names in its address, or in its form where it sends one.

    All changes are counted, which takes some microseconds each. Only those of the page are described.
    """
    names = [section.name if (section := section_of(c.subject, c.row)) else "" for c in in_turns(changes)]
    wanted, _, page_text = request.values.get(ROWS_OF, "").partition(":")
    section = wanted if wanted in set(names) else None
    numbers = [number for number, name in enumerate(names) if section in (None, name)]
    page = min(max(read_id(page_text) or 1, 1), _pages(len(numbers)))
    rows = [(number, changes[number]) for number in numbers[(page - 1) * ROWS : page * ROWS]]
    most = MOST_LINES if len(rows) > 1 else None
    return ChangesPage(
        counts=_counts(names, changes),
        section=section,
        rows=rows,
        described=[described_change(change, most) for _, change in rows],
        total=len(numbers),
        page=page,
    )


def _pages(rows: int) -> int:
    return max(-(-rows // ROWS), 1)


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
