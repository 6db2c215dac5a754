"""Lists of rows: search, filters, sorting and pages, from flask-admin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from flask import current_app, flash, request, url_for
from flask_admin.contrib.sqla import ModelView
from flask_admin.contrib.sqla.filters import BaseSQLAFilter
from flask_admin.model.base import ViewArgs
from flask_admin.model.typefmt import BASE_FORMATTERS
from sqlalchemy import Boolean, Integer, LargeBinary, String

from app.console.shell.access import READ
from app.console.shell.formats import cut, grouped, when
from app.console.shell.views import ConsoleView
from app.db.models import Base, db
from app.db.types import ExactInteger, Hash32, Uint64
from app.values.amounts import is_ascii_digits
from app.values.identifiers import MAX_UINT64


class Choice(BaseSQLAFilter):
    """One of a few values. The list ignores any other value, with a message."""

    def __init__(self, column: Any, name: str, options: Sequence[tuple[str, str]]) -> None:
        super().__init__(column, name, options=list(options))

    def validate(self, value: str) -> bool:
        return value in {key for key, _ in self.options}

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        return query.filter(self.get_column(alias) == self.stored(value))

    def stored(self, value: str) -> Any:
        """The choice as the column has it."""
        return value

    def operation(self) -> str:
        return "is"


class Flag(Choice):
    """Yes or no."""

    def __init__(self, column: Any, name: str, yes: str = "yes", no: str = "no") -> None:
        super().__init__(column, name, [("1", yes), ("0", no)])

    def stored(self, value: str) -> bool:
        return value == "1"


class Present(Choice):
    """Whether a column has a value."""

    def __init__(self, column: Any, name: str, yes: str = "yes", no: str = "no") -> None:
        super().__init__(column, name, [("1", yes), ("0", no)])

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        column = self.get_column(alias)
        return query.filter(column.is_not(None) if value == "1" else column.is_(None))


class Is(BaseSQLAFilter):
    """The value of a column as an operator types it. The list ignores one that the column cannot have, with a
    message.
    """

    def validate(self, value: str) -> bool:
        return self._stored(value) is not None

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        return query.filter(self.get_column(alias) == self._stored(value))

    def operation(self) -> str:
        return "is"

    def _stored(self, value: str) -> Any:
        """As the column has it; None where it cannot have it."""
        kind, text = self.column.type, value.strip()
        if isinstance(kind, LargeBinary | Hash32):
            digits = text.removeprefix("0x")
            return bytes.fromhex(digits) if _HEX.fullmatch(digits) else None
        if isinstance(kind, Integer | Uint64):
            most = MAX_UINT64 if isinstance(kind, Uint64) else _MAX_INT64
            is_number = is_ascii_digits(text) and len(text) <= _MOST_DIGITS
            return int(text) if is_number and int(text) <= most else None
        return text


_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})+", re.ASCII)
_MAX_INT64: Final = 2**63 - 1
_MOST_DIGITS: Final = 20
"""Of 2^64-1. Python refuses to read numbers of thousands of digits."""


_WORDS: Final = {"src": "source", "dst": "destination", "addr": "address", "tx": "transaction"}
"""Parts of the names of columns, as headings have them."""

_LONGEST_SEARCH: Final = 200
_LAST_PAGE: Final = 1_000_000


def _amount(_view: Any, _context: Any, row: Any, name: str) -> str:
    return grouped(getattr(row, name))


class ListView(ConsoleView, ModelView):
    """A list of rows. Only routes of the subclass write; the library's are removed."""

    model_class: ClassVar[type[Base]]
    title: ClassVar[str]
    explanation: ClassVar[str] = ""
    """A sentence under the title: what the rows are for."""
    nothing: ClassVar[str] = "No rows yet."
    """The text of the page where there is no row: what to do first."""
    audit_subject: ClassVar[str] = ""
    """How the audit log names a row, such as ``operator {email}``."""
    row_endpoint: ClassVar[str | None] = None
    """The route that a row's first cell leads to; its one argument is the row's id."""
    new_endpoint: ClassVar[str | None] = None
    new_label: ClassVar[str] = "New"
    numbers: ClassVar[frozenset[str]] = frozenset()
    """Columns that are right-aligned, in tabular figures."""

    access = {"index_view": READ}
    menu_page = "index_view"
    # Routes of the library that write without the services' checks, or that the console does not need.
    create_view = edit_view = delete_view = details_view = None
    action_view = ajax_lookup = ajax_update = export = None

    can_create = can_edit = can_delete = can_view_details = False
    page_size = 50
    column_display_actions = False
    column_display_pk = False
    named_filter_urls = True
    list_template = "console/list.html"

    column_type_formatters = {
        **BASE_FORMATTERS,
        bytes: lambda _view, value, _name: cut(f"0x{value.hex()}"),
        datetime: lambda _view, value, _name: when(value),
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Amounts are shown as such where the list says nothing else of them."""
        super().__init_subclass__(**kwargs)
        if "model_class" in cls.__dict__:
            columns = cls.model_class.__table__.columns
            own: dict[str, Any] = cls.__dict__.get("column_formatters", {})
            amounts = {column.key for column in columns if isinstance(column.type, ExactInteger)} - own.keys()
            cls.column_formatters = dict.fromkeys(amounts, _amount) | own
            cls.numbers = cls.numbers | amounts

    def __init__(self) -> None:
        super().__init__(self.model_class, db, name=self.title, endpoint=self.model_class.__tablename__)

    def get_column_name(self, field: str) -> str:
        """A column's heading: its label, or its name in sentence case, such as *Source chain*."""
        words = " ".join(_WORDS.get(part, part) for part in field.split("_")).replace("chain id", "chain")
        return (self.column_labels or {}).get(field, words[:1].upper() + words[1:])

    def scaffold_filters(self, name: Any) -> list[BaseSQLAFilter]:
        """The filter of a column that ``column_filters`` has by its name: its value, or yes and no.

        :raises ValueError: it has no column of that name, or one that needs a filter of its own.
        """
        column = getattr(self.model_class, name, None) if isinstance(name, str) else name
        kind = getattr(column, "type", None)
        if column is not None and isinstance(kind, Boolean):
            return [Flag(column, self.get_column_name(column.key))]
        if column is not None and isinstance(kind, Integer | Uint64 | String | LargeBinary | Hash32):
            return [Is(column, self.get_column_name(column.key))]
        raise ValueError(
            f"column_filters of {type(self).__name__}: {name!r} cannot be filtered by its value. Write the "
            "name of a column with a number, a text or yes and no, or a filter such as "
            'Choice(Model.column, "Heading", [("value", "its words")])'
        )

    def get_list(self, *args: Any, **kwargs: Any) -> tuple[int | None, list[Any]]:
        """The rows, read to the end. The page reads more on other connections, and must hold none meanwhile:
        pages that wait for each other's connections would all wait in vain.
        """
        try:
            return super().get_list(*args, **kwargs)
        finally:
            db.session.close()

    def row_url(self, row: Any) -> str:
        endpoint = self.row_endpoint or ""
        (argument,) = next(current_app.url_map.iter_rules(endpoint)).arguments
        return url_for(endpoint, **{argument: self.get_pk_value(row)})

    @property
    def has_history(self) -> bool:
        return bool(self.audit_subject)

    def subject(self, row: Any) -> str:
        return self.audit_subject.format_map(self.values_of(row))

    def values_of(self, row: Any) -> dict[str, Any]:
        return {column.key: getattr(row, column.key) for column in self.model_class.__table__.columns}

    def history_url(self, row: Any) -> str:
        return url_for("audit.index", subject=f'"{self.subject(row)}"')

    def filter_fields(self) -> list[tuple[str, Any, str]]:
        """For each filter its name in the URL, itself, and its value now."""
        fields = []
        for index, found in enumerate(self.get_filters() or ()):
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
                    f"{found.name}: “{value[:60]}” is not a valid filter value. The filter was ignored.",
                    "warning",
                )
        return active

    def _get_list_extra_args(self) -> ViewArgs:
        """The arguments of the URL. Values out of range are ignored. So are arguments that no list has: the
        library would pass them to the function that builds addresses, as its parameters.
        """
        args = super()._get_list_extra_args()
        sortable = args.sort is not None and 0 <= args.sort < len(self.get_list_columns())
        return args.clone(
            page=min(max(args.page or 0, 0), _LAST_PAGE),
            sort=args.sort if sortable else None,
            extra_args={},
            search=(args.search or "").replace("\0", "").strip()[:_LONGEST_SEARCH] or None,
        )
