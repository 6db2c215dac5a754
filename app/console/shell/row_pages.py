"""Some rows of many on a page that is not a list of a table: a preview, a record, a proposal.

A page must not grow with its rows. Lists of tables have ``app.console.shell.lists``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from flask import request
from msgspec import Struct

from app.console.shell.caller import read_id

T = TypeVar("T")

ROWS: Final = 25
"""Rows of a page, each with its fields."""

LINES: Final = 100
"""Rows of a page where each is one line."""

ROWS_OF: Final = "rows"
"""The argument that names a page, in an address and in a form."""

_ALL: Final = "all"


class RowsPage(Struct, Generic[T], frozen=True, kw_only=True):
    """Some rows of many, of a section where one is chosen.

    :ivar total: the number of all rows of the section.
    :ivar page: the number of this page, from 1.
    :ivar size: how many rows a page has.
    """

    rows: Sequence[T]
    total: int
    page: int
    size: int
    section: str | None = None

    @property
    def pages(self) -> int:
        return _pages(self.total, self.size)

    @staticmethod
    def key(section: str | None, page: int = 1) -> str:
        """How an address or a form names a page: ``routes:2``, ``all:2``."""
        return f"{_ALL if section is None else section}:{page}"


def some_rows(rows: Sequence[T], size: int = ROWS, section: str | None = None) -> RowsPage[T]:
    """The page of rows that the request names in its address, or in its form where it sends one.

    :param section: what the rows are, where a page has several lists: another list begins at its start.
    """
    wanted_of, number = _wanted()
    wanted = (read_id(number) or 1) if wanted_of == (section or _ALL) else 1
    page = min(max(wanted, 1), _pages(len(rows), size))
    found = rows[(page - 1) * size : page * size]
    return RowsPage(rows=found, total=len(rows), page=page, size=size, section=section)


def wanted_section() -> str:
    """The section that the request names; any text where it names no page."""
    return _wanted()[0]


def _wanted() -> tuple[str, str]:
    section, _, page = request.values.get(ROWS_OF, "").partition(":")
    return section, page


def _pages(rows: int, size: int) -> int:
    return max(-(-rows // size), 1)
