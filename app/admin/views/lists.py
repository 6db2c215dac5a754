"""Lists of rows: search, filters, sorting, pages, details and CSV export, from flask-admin."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final, final

from flask import current_app, flash, request, url_for
from flask_admin.contrib.sqla import ModelView
from flask_admin.model.base import ViewArgs

from app.admin.access import READ
from app.admin.views.base import ConsoleView
from app.extensions import Base, db

STOCK_EDITS: Final = frozenset({"create_view", "edit_view", "delete_view"})
STOCK_EXTRAS: Final = frozenset({"details_view", "action_view", "ajax_lookup", "ajax_update"})
"""Routes of the library that write without the services' checks, or that the console does not need."""

_RUN_BY_SPREADSHEETS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_LONGEST_SEARCH: Final = 200
_LAST_PAGE: Final = 1_000_000


class ListView(ConsoleView, ModelView):
    """A list of rows. Writing is left to routes of the subclass; those of the library are closed."""

    model_class: ClassVar[type[Base]]
    title: ClassVar[str]
    explanation: ClassVar[str] = ""
    """A sentence under the title: what the rows are for."""
    nothing: ClassVar[str] = "There is nothing here yet."
    """What the page says where there is no row: what to do first."""
    row_endpoint: ClassVar[str | None] = None
    """The route that a row's first cell leads to; its one argument is the row's id."""
    new_endpoint: ClassVar[str | None] = None
    new_label: ClassVar[str] = "New"
    numbers: ClassVar[frozenset[str]] = frozenset()
    """Columns that are set right-aligned, in tabular figures."""

    access = {"index_view": READ, "export": READ}
    closed = STOCK_EDITS | STOCK_EXTRAS

    can_create = can_edit = can_delete = can_view_details = False
    can_export = True
    export_types = ["csv"]
    export_max_rows = 100_000
    page_size = 50
    column_display_actions = False
    column_display_pk = False
    named_filter_urls = True
    list_template = "console/list.html"

    def __init__(self) -> None:
        super().__init__(self.model_class, db, name=self.title, endpoint=self.model_class.__tablename__)

    @final
    def get_export_value(self, model: Any, name: str) -> str:
        """A cell of the export, never one that a spreadsheet would run as a formula."""
        return neutral_cell(self.export_value(model, name))

    def export_value(self, model: Any, name: str) -> Any:
        """The bare value of a cell. Lists override this one, so that no cell misses the guard around it."""
        return self._get_field_value(model, name)

    def row_url(self, row: Any) -> str:
        """Where a row's first cell leads."""
        endpoint = self.row_endpoint or ""
        (argument,) = next(current_app.url_map.iter_rules(endpoint)).arguments
        return url_for(endpoint, **{argument: self.get_pk_value(row)})

    def filter_fields(self) -> list[tuple[str, Any, str]]:
        """For each filter its name in the URL, itself, and its value now."""
        fields = []
        for index, found in enumerate(self._filters or ()):
            name = f"flt{index}_{self.get_filter_arg(index, found)}"
            fields.append((name, found, request.args.get(name, "")))
        return fields

    def _get_list_filter_args(self) -> list[Any] | None:
        # The library's version treats an empty field as an invalid value.
        active = []
        for index, (_, found, given) in enumerate(self.filter_fields()):
            value = given.replace("\0", "")
            if value and found.validate(value):
                active.append((index, found.name, value))
            elif value:
                flash(
                    f"{found.name}: “{value[:60]}” is no value to filter by, so it was left out.", "warning"
                )
        return active

    def _get_list_extra_args(self) -> ViewArgs:
        """The arguments of the URL. Values out of range are ignored."""
        args = super()._get_list_extra_args()
        sortable = args.sort is not None and 0 <= args.sort < len(self._list_columns)
        return args.clone(
            page=min(max(args.page or 0, 0), _LAST_PAGE),
            sort=args.sort if sortable else None,
            search=(args.search or "").replace("\0", "").strip()[:_LONGEST_SEARCH] or None,
        )


def neutral_cell(value: Any) -> str:
    """The value of a CSV cell, so that no spreadsheet runs it as a formula (OWASP, CSV injection).

    An apostrophe before it makes a spreadsheet take it as text. Numbers stay as they are.
    """
    text = "" if value is None else str(value)
    if text.startswith(_RUN_BY_SPREADSHEETS) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def csv_line(cells: Iterable[Any]) -> str:
    """A line of a CSV file; no cell of it is a formula."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([neutral_cell(cell) for cell in cells])
    return buffer.getvalue()
