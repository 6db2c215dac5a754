"""Changes of rows in the words of their forms; many of them with counts by section, some rows at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from flask import url_for
from msgspec import Struct

from app.accounts.services.factors import RULE
from app.audit.rules.records import AuditedChange
from app.console.network.blocks import BlockedAddressesView, BlockedNetworksView, RouteBlocksView
from app.console.network.chains import ChainsView
from app.console.network.editing import NetworkView
from app.console.network.forms import DiffLine, unlabelled
from app.console.network.names import readable, row_title
from app.console.network.pools import PoolsView
from app.console.network.routes import RoutesView
from app.console.network.tokens import PeggedPairsView, TokensView
from app.console.shell.access import may
from app.console.shell.row_pages import RowsPage, some_rows, wanted_section
from app.cooperation import in_turns
from app.network.sections import Section, section_of
from app.values.differences import FieldDifference, difference

EDITED_VIEWS: Final[tuple[type[NetworkView], ...]] = (
    ChainsView, TokensView, PoolsView, RoutesView, RouteBlocksView, PeggedPairsView,
    BlockedAddressesView, BlockedNetworksView,
)  # fmt: skip
BY_SECTION: Final = {view.model_class.__tablename__: view for view in EDITED_VIEWS}


class DescribedChange(Struct, frozen=True):
    """A change of a row for a page.

    ``what`` is Added, Changed or Removed; ``history`` is the address of the row's history. ``more`` is the
    number of its fields that ``lines`` leaves out.
    """

    what: str
    subject: str
    title: str
    lines: Sequence[DiffLine]
    history: str | None
    section: str
    more: int = 0


def described_change(change: AuditedChange, most: int | None = None) -> DescribedChange:
    """A change, with its fields as the section's form names them.

    :param most: how many fields are shown; None for all of them, 0 to find none.
    """
    what = "Added" if change.before is None else "Removed" if change.after is None else "Changed"
    row = {**(change.before or {}), **(change.after or {})}
    section = section_of(change.subject, row)
    history = url_for("history.index", subject=change.subject) if section else None
    view = BY_SECTION.get(section.name) if section else None
    title = row_title(view.one, row) if view else readable(change.subject)
    lines = () if most == 0 else lines_of(change, section)
    return DescribedChange(
        what, change.subject, title[:1].upper() + title[1:], lines[:most], history,
        section.name if section else "", len(lines) - len(lines[:most]),
    )  # fmt: skip


def lines_of(change: AuditedChange, section: Section | None) -> Sequence[DiffLine]:
    """The fields that differ, in the words of the section's form where it has one."""
    before, after = change.before, change.after
    if section is not None and before is not None and after is not None:
        before, after = section.with_defaults(before), section.with_defaults(after)
    return in_words_of(change, difference(before, after))


def in_words_of(change: AuditedChange, differences: Iterable[FieldDifference]) -> Sequence[DiffLine]:
    """Differences of the changed row. Its form names the fields and adds units and names to the values.

    Accounts, tokens and keys have labels here. A section that is edited only by the document has none.
    """
    row = {**(change.before or {}), **(change.after or {})}
    section = section_of(change.subject, row)
    view = BY_SECTION.get(section.name) if section else None
    if view is not None:
        return view.row_form(formdata=None, row=row).in_words(differences)
    if change.subject.startswith(_ADMINISTERED):
        return [_line(each) for each in sorted(differences, key=_place)]
    return [unlabelled(each) for each in differences]


_ADMINISTERED: Final = ("operator ", "ingest token ", "api key ", RULE)
"""How the subjects of accounts, tokens, keys and rules begin."""
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
    "created_at": "Created",
    "expires_at": "Expires",
    "revoked_at": "Revoked",
    "quota_events": "Quota, events",
    "quota_seconds": "Quota, seconds",
}
_VALUES: Final = {"true": "yes", "false": "no", "null": "all"}
"""Texts for values of accounts, tokens and keys. Where no kind or chain is named, all are meant."""


def _place(each: FieldDifference) -> int:
    """The position of a field in ``_LABELS``; other fields are last."""
    key = each.field.partition("[")[0]
    return [*_LABELS, key].index(key)


def _line(each: FieldDifference) -> DiffLine:
    key, bracket, rest = each.field.partition("[")
    label = _LABELS.get(key, key) + (f" {bracket}{rest}" if bracket else "")
    before, after = (_VALUES.get(text, text) if text else text for text in (each.before, each.after))
    return DiffLine(label, before, after, "", "")


def restore_page(section: str, record_id: int, number: int, *, before: bool) -> str | None:
    """The page that restores the values before or after a change; None where they cannot be restored here."""
    if section not in BY_SECTION or not may(BY_SECTION[section].access["restore"].change):
        return None
    parameter = 1 if before else None
    return url_for(f"{section}.restore", record_id=record_id, number=number, before=parameter)


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
        return self.name.replace("_", " ")

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


class ChangesPage(RowsPage[tuple[int, AuditedChange]], frozen=True, kw_only=True):
    """Some changes of many, each with its index among all of them. ``counts`` are of all changes."""

    counts: Sequence[SectionCount]
    described: Sequence[DescribedChange]

    @property
    def all_rows(self) -> int:
        return sum(count.total for count in self.counts)


def changes_page(changes: Sequence[AuditedChange]) -> ChangesPage:
    """The page of changes that the request names.

    All changes are counted. Only those of the page are described.
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
