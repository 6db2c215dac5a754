"""Editing the sections of the network document: one list and one form mechanism for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from flask import abort, flash, has_request_context, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup

from app.admin.access import EDIT, READ, Access, Audience
from app.admin.forms.fields import Field
from app.admin.forms.network import EditForm
from app.admin.network_words import Choices, chain_choices, decimals_by_place, row_title, symbol_choices
from app.admin.requests import actor
from app.admin.views.lists import Choice, ListView, neutral_cell
from app.admin.views.network_users import users_with_links
from app.domain.difference import difference
from app.runtime.gateway import current_gateway
from app.services.audit.fingerprint import shown_values
from app.services.audit.results import Conflict, Saved
from app.services.network.edits.edit import ShownRow, preview_edit, save_edit, show_row
from app.services.network.edits.locks import locked_fields
from app.services.network.edits.planning import EDITABLE, Edit
from app.services.network.edits.results import InUse, Invalid, NotConfirmed, Preview
from app.services.network.sections import Section

_LARGEST_ID: Final = (1 << 63) - 1
_LONGEST_FLASH: Final = 240
_NO_ROW: Final = 0
"""The number of no row: an edit of it is told that the row was removed."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Facts that stand beside a form, not to be edited: a small table and what it says."""

    title: str
    explanation: str
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """An edit on its way: the form it comes from, the row as it stands, and how the form is shown again."""

    edit: Edit
    form: EditForm
    row: ShownRow | None
    again: Callable[[EditForm], ResponseReturnValue]


class _FromTheNetwork(Choice):
    """One of what is configured when the page is asked for."""

    choices: ClassVar[Callable[[], Choices]]

    def __init__(self, column: Any, name: str) -> None:
        super().__init__(column, name, [])

    @property
    def options(self) -> Choices:
        """Empty while the library builds menus of its own at the start: it has no database yet."""
        return type(self).choices() if has_request_context() else []

    @options.setter
    def options(self, _given: object) -> None:
        """The library sets what was given: nothing."""


class ChainIs(_FromTheNetwork):
    """One of the chains; also where one of several columns names it."""

    choices = staticmethod(chain_choices)

    def __init__(self, column: Any, name: str, *others: Any) -> None:
        super().__init__(column, name)
        self.others = others

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        condition = self.get_column(alias) == int(value)
        for other in self.others:
            condition = condition | (other == int(value))
        return query.filter(condition)


class SymbolIs(_FromTheNetwork):
    """One of the tokens' symbols."""

    choices = staticmethod(symbol_choices)

    def __init__(self, column: Any, name: str = "Token") -> None:
        super().__init__(column, name)


class NetworkView(ListView):
    """Rows of one section: read by everybody, changed by operators after a look at what it will do."""

    section = "Network"
    fields: ClassVar[tuple[Field, ...]]
    one: ClassVar[str]
    """What a row is called in headings, such as ``route``."""
    form_help: ClassVar[str] = ""
    list_template = "console/network/list.html"

    access = {
        "index_view": READ,
        "export": READ,
        "new": EDIT,
        "edit": Access(Audience.VIEWER, Audience.OPERATOR),
        "remove": EDIT,
    }

    def __init__(self) -> None:
        self.of: Section = EDITABLE[self.model_class.__tablename__]
        super().__init__()

    def beside(self, row: Mapping[str, Any]) -> Sequence[Beside]:
        """Facts to show beside the form of this row (as the document writes it)."""
        return ()

    def title_of(self, values: Mapping[str, Any]) -> str:
        """What a row is called in headings."""
        title = row_title(self.one, values)
        return title[:1].upper() + title[1:]

    def row_id(self, key: int) -> int | None:
        """The id of the row that a number in the address means."""
        return key if 0 < key <= _LARGEST_ID else None

    def key_of(self, values: Mapping[str, Any], row_id: int) -> int:
        """The number in the address of a row's pages."""
        return row_id

    # --- The list

    def get_export_columns(self) -> list[tuple[Any, str]]:
        """The document's own keys: what is exported reads like what is imported."""
        names = [field.data_key or name for name, field in self.of.schema.dump_fields.items()]
        return [(name, name) for name in names]

    def get_export_value(self, model: Any, name: str) -> Any:
        """The value as the document writes it, never one that a spreadsheet would run."""
        columns = {column.key: getattr(model, column.key) for column in model.__table__.columns}
        value = self.of.documented(columns)[name]
        return neutral_cell(value if isinstance(value, str) or value is None else json.dumps(value))

    # --- The pages

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        """Add a row."""
        if request.method == "GET":
            return self._form_page(EditForm(self.fields).fill(request.args), None)
        return self._take(EditForm(self.fields), None, None)

    @expose("/<int:key>", methods=("GET", "POST"))
    def edit(self, key: int) -> ResponseReturnValue:
        """Look at a row and change it."""
        row = self._row(key)
        if request.method == "GET":
            if row is None:
                abort(404)
            return self._form_page(self._form(row).fill(), row)
        return self._take(self._form(row), row, row.row_id if row else _NO_ROW)

    @expose("/<int:key>/remove", methods=("GET", "POST"))
    def remove(self, key: int) -> ResponseReturnValue:
        """Remove a row that nothing uses."""
        row = self._row(key)
        if request.method == "GET":
            if row is None:
                abort(404)
            edit = Edit(self.of.name, row.row_id, None, row.fingerprint)
        else:
            edit = Edit(self.of.name, row.row_id if row else _NO_ROW, None, request.form.get("seen"))
        form = EditForm(self.fields, row.values if row else None).fill()
        return self.attempt(Attempt(edit, form, row, lambda form: self._form_page(form, row)))

    # --- Their steps

    def _row(self, key: int) -> ShownRow | None:
        row_id = self.row_id(key)
        return None if row_id is None else show_row(current_gateway(), self.of.name, row_id)

    def shown_row(self, key: int) -> ShownRow:
        """The row that a page is about.

        :raises NotFound: there is none.
        """
        row = self._row(key)
        if row is None:
            abort(404)
        return row

    def _form(self, row: ShownRow | None) -> EditForm:
        if row is None:
            return EditForm(self.fields)
        locked = locked_fields(current_gateway(), self.of.name, row.values)
        return EditForm(self.fields, row.values, locked)

    def _take(self, form: EditForm, row: ShownRow | None, row_id: int | None) -> ResponseReturnValue:
        """What was posted, shown as a preview, saved, or told what is wrong with it."""
        seen = request.form.get("seen")

        def again(form: EditForm) -> ResponseReturnValue:
            return self._form_page(form, row, seen)

        form.read(request.form)
        if "" in form.errors:
            return again(form), 400  # type: ignore[return-value]
        if form.errors or "back" in request.form:
            return again(form)
        return self.attempt(Attempt(Edit(self.of.name, row_id, form.values, seen), form, row, again))

    def attempt(self, on: Attempt, *, save: bool | None = None) -> ResponseReturnValue:
        """Preview the edit, or save it where it is confirmed; tell why not where that is so."""
        gateway = current_gateway()
        try:
            if save or (save is None and "confirm" in request.form and request.method == "POST"):
                typed = request.form.get("typed", "")
                return self.done(save_edit(gateway, on.edit, actor=actor(), typed=typed))
            return self._preview_page(preview_edit(gateway, on.edit), on)
        except NotConfirmed as refused:
            message = (
                f"Type “{refused.needs_typed}”, exactly as it is written, to confirm. Nothing was saved."
            )
            if save:
                on.form.complain("typed", message)
                return on.again(on.form)
            return self._preview_page(preview_edit(gateway, on.edit), on, message)
        except Invalid as refused:
            on.form.take(refused.errors)
            return on.again(on.form)
        except Conflict as refused:
            return self._conflict_page(refused, on)
        except InUse as refused:
            users = users_with_links(refused.users)
            subject = row_title(self.one, on.row.values if on.row else {})
            return self.render("console/network/in_use.html", refused=refused, users=users, subject=subject)

    def done(self, saved: Saved) -> ResponseReturnValue:
        """Back to the list, with a word of what was done."""
        flash_saved(saved)
        return redirect(self.get_url(".index_view"))

    def _form_page(self, form: EditForm, row: ShownRow | None, seen: str | None = None) -> str:
        return self.render(
            "console/network/form.html",
            form=form,
            row=row,
            seen=row.fingerprint if row and seen is None else seen,
            key=self.key_of(row.values, row.row_id) if row else None,
            decimals=decimals_by_place(),
            facts=self.beside(row.values) if row else (),
        )

    def _preview_page(self, preview: Preview, on: Attempt, complaint: str = "") -> ResponseReturnValue:
        removing = on.edit.values is None
        if not preview.changes:
            flash("Nothing is different from what stands, so there is nothing to save.", "warning")
            return on.again(on.form)
        return self.render(
            "console/network/preview.html",
            preview=preview,
            subject=row_title(self.one, {**(on.row.values if on.row else {}), **(on.edit.values or {})}),
            lines=on.form.in_words(preview.differences),
            texts={} if removing else on.form.sent(),
            seen=on.edit.shown or "",
            removing=removing,
            adding=on.edit.row_id is None,
            complaint=complaint,
        )

    def _conflict_page(self, refused: Conflict, on: Attempt) -> str:
        now, own = on.row.values if on.row else {}, on.edit.values or {}
        saw = shown_values(on.edit.shown) or {}
        kept = {key: now[key] for key in own if on.row and own[key] not in (now[key], saw.get(key, ...))}
        words = EditForm(self.fields, now or None).fill()
        return self.render(
            "console/network/conflict.html",
            refused=refused,
            meanwhile=words.in_words(refused.meanwhile),
            own=words.in_words(difference(kept, {key: own[key] for key in kept})),
            row=on.row,
            key=self.key_of(now, on.row.row_id) if on.row else None,
        )


def flash_saved(saved: Saved) -> None:
    """Say what was done, with a way to the record of it."""
    if saved.record_id is None:
        flash("Nothing was different any more: nothing was saved.", "warning")
        return
    text = saved.changes[0] if len(saved.changes) == 1 else f"{len(saved.changes):,} changes"
    text = text if len(text) <= _LONGEST_FLASH else f"{text[:_LONGEST_FLASH]}…"
    link = url_for("audit.record", record_id=saved.record_id)
    flash(Markup('Done: {}. <a href="{}">Audit record {}</a>').format(text, link, saved.record_id), "success")
