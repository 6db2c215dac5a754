"""Names of the rows of each section, and their changes in the words of their forms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from flask import url_for
from msgspec import Struct

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
    return in_words_of(change, section, difference(before, after))


def in_words_of(
    change: AuditedChange, section: Section | None, differences: Iterable[FieldDifference]
) -> Sequence[DiffLine]:
    """Differences of the changed row. Its form names the fields and adds units and names to the values.

    A section that is edited only by the document has no form.
    """
    view = BY_SECTION.get(section.name) if section else None
    if view is None:
        return [unlabelled(each) for each in differences]
    row = {**(change.before or {}), **(change.after or {})}
    return view.row_form(formdata=None, row=row).in_words(differences)


def restore_page(section: str, record_id: int, number: int, *, before: bool) -> str | None:
    """The page that restores the values before or after a change; None where they cannot be restored here."""
    if section not in BY_SECTION or not may(BY_SECTION[section].access["restore"].change):
        return None
    parameter = 1 if before else None
    return url_for(f"{section}.restore", record_id=record_id, number=number, before=parameter)
