"""Lists and edits of the network document's sections: the same steps for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict

from app.audit.previews import Preview
from app.audit.services import Conflict, shown_values
from app.console.network.forms import DiffLine, RowForm, row_form
from app.console.network.names import cells, decimals_by_pool, is_number, readable, row_title
from app.console.network.previewed import PreviewedForm, previewed, saved
from app.console.network.token_state import STATE, STOPS
from app.console.shell.access import EDIT, READ, Access, Audience
from app.console.shell.forms.form import inputs_of
from app.console.shell.lists import ListView
from app.console.shell.views import after_saving
from app.db.database import Database
from app.db.engine import reading
from app.http.application import current
from app.network.edits.entered import ShownRow, locked_fields, show_row
from app.network.edits.plan import EDITABLE, Edit
from app.network.edits.refusals import InUse, Invalid
from app.network.edits.restore import restoring
from app.network.models import Token
from app.network.models.columns import declared_columns
from app.network.queries import load_rows, rows_with
from app.network.sections import BLOCKED, Row, Section
from app.values.differences import FieldDifference, difference


def links_of_users() -> Callable[[str], tuple[str, str | None]]:
    """Returns title and page of what uses a row, by its name; None where it has no page."""
    pages = _pages()
    transfers = f"{url_for('admin.index')}transfers/"
    return lambda name: (
        pages.get(name) or (readable(name), f"{transfers}{name}" if name.startswith("0x") else None)
    )


def _pages() -> dict[str, tuple[str, str]]:
    """Title and page of each row, by the name that the service uses for it."""
    sections = [section for section in EDITABLE.values() if section.part not in BLOCKED]
    with reading(current(Database).reads) as connection:
        rows = [(section, row) for section in sections for row in load_rows(connection, section.model)]
    found: dict[str, tuple[str, str]] = {}
    for section, row in rows:
        one = section.name.removesuffix("s").replace("_", " ")
        found[section.describe(row)] = row_title(one, section.documented(row)), page_of(section, row)
    return found


def page_key(section: Section, row: Row) -> int:
    """The number of a row in the address of its pages. Chains go by their own ids."""
    return int(row["chain_id"] if section.name == "chains" else row["id"])


def page_of(section: Section, row: Row) -> str:
    """The page of a row."""
    return url_for(f"{section.name}.edit", key=page_key(section, row))


def page_of_token(chain_id: int, symbol: str) -> str:
    """The page of a token, which was added now; the list where that is only proposed."""
    with reading(current(Database).engine) as connection:
        rows = rows_with(connection, Token, "symbol", [symbol])
    pages = (page_of(EDITABLE["tokens"], row) for row in rows if row["chain_id"] == chain_id)
    return next(pages, url_for("tokens.index_view"))


LONGEST_GIVEN: Final = 256
"""Characters of a value that the address of a new row's page gives."""
_NO_ROW: Final = 0
"""The number of no row. An edit of it is refused, as of a row that was removed."""


class SideTable(Struct, frozen=True):
    """A small table of facts next to a form, which cannot be edited."""

    title: str
    explanation: str
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


class Attempt(Struct, frozen=True):
    """An edit that is previewed or saved: its form, the row as it is now, and how to show the form again.

    ``filled_in`` is false where the values do not come from the form: then the page does not lead back to it.
    """

    edit: Edit
    form: PreviewedForm
    row: ShownRow | None
    again: Callable[[PreviewedForm], ResponseReturnValue]
    filled_in: bool = True


class NetworkView(ListView):
    """Rows of one section. Everybody reads them; operators change them after a preview of the effects."""

    section = "Network"
    of: ClassVar[Section]
    row_form: ClassVar[type[RowForm]]
    one: ClassVar[str]
    """What a row is called in headings, such as ``route``."""
    list_template = "console/network/list.html"
    form_template = "console/network/form.html"
    column_list: Any
    column_labels: Any
    column_formatters: Any

    access = {
        "index_view": READ,
        "new": EDIT,
        "edit": Access(Audience.VIEWER, Audience.OPERATOR),
        "remove": EDIT,
        "restore": EDIT,
    }

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "model_class" in cls.__dict__:
            table = cls.model_class.__tablename__
            cls.of, cls.row_form = EDITABLE[table], row_form(cls.model_class)
            columns = declared_columns(cls.model_class)
            labels = {name: each.label for name, each in columns.items() if each.label}
            cls.column_labels = labels | cls.__dict__.get("column_labels", {})
            cls.column_formatters = cells(cls.model_class) | cls.__dict__.get("column_formatters", {})
            cls.numbers = frozenset(name for name, each in columns.items() if is_number(each))
            cls.row_endpoint = f"{table}.edit"
            cls.new_endpoint = cls.__dict__.get("new_endpoint", f"{table}.new")

    @property
    def has_history(self) -> bool:
        return True

    def subject(self, row: Any) -> str:
        return self.of.describe(self.values_of(row))

    def history_url(self, row: Any) -> str:
        return url_for("history.index", subject=self.subject(row))

    def side_tables(self, row: Row) -> Sequence[SideTable]:
        return ()

    def page_after(self, edit: Edit) -> str:
        """The page after a change: the list; after a new token or pool the token, which needs more rows."""
        if edit.values and edit.row_id is None and self.of.name in ("tokens", "pools"):
            return page_of_token(edit.values["chain_id"], edit.values["symbol"])
        return self.get_url(".index_view")

    def more_about(self, key: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def title_of(self, values: Mapping[str, Any]) -> str:
        title = row_title(self.one, values)
        return title[:1].upper() + title[1:]

    def row_id(self, key: int) -> int | None:
        return key or None

    # --- The pages

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        if request.method != "POST":
            given = {name: text[:LONGEST_GIVEN] for name, text in request.args.items()}
            return self._form_page(self.row_form(formdata=MultiDict(given)), None)
        return self._submitted(self.row_form(), None, None)

    @expose("/<int:key>", methods=("GET", "POST"))
    def edit(self, key: int) -> ResponseReturnValue:
        row = self._row(key)
        if request.method != "POST":
            if row is None:
                abort(404)
            return self._form_page(self._form(row), row)
        return self._submitted(self._form(row), row, row.row_id if row else _NO_ROW)

    @expose("/<int:key>/remove", methods=("GET", "POST"))
    def remove(self, key: int) -> ResponseReturnValue:
        row = self._row(key)
        form = self.row_form(row=row.values if row else None)
        if request.method != "POST":
            if row is None:
                abort(404)
            form.fingerprint.data = row.fingerprint
        edit = Edit(self.of.name, row.row_id if row else _NO_ROW, None, form.fingerprint.data)
        return self.attempt(Attempt(edit, form, row, lambda form: self._form_page(form, row)))

    @expose("/restore/<int:record_id>/<int:number>", methods=("GET", "POST"))
    def restore(self, record_id: int, number: int) -> ResponseReturnValue:
        """Restore the values of a row from after a change, or before it, as the audit log has them."""
        before = request.args.get("before") == "1"
        found = restoring(current(Database), record_id, number, before=before)
        if found is None or found[0].section is not self.of:
            abort(404)
        changed, edit = found
        history = url_for("history.index", subject=changed.change.subject)
        row = None if edit.row_id is None else show_row(current(Database), self.of.name, edit.row_id)
        if edit.values is None:
            if row is None:
                flash(
                    "The row did not exist then and does not exist now. There is nothing to restore.",
                    "warning",
                )
                return redirect(history)
            return redirect(self.get_url(".remove", key=page_key(self.of, row.row)))
        # Nothing is typed on this page, so the preview has nothing to send again.
        form = self.row_form(row=changed.now, locked=dict.fromkeys(edit.values, ""))
        if request.method == "POST":
            edit = replace(edit, shown=form.fingerprint.data)
        else:
            form.fingerprint.data = edit.shown

        def again(form: PreviewedForm) -> ResponseReturnValue:
            for message in (*form.form_errors, *(e for errors in form.errors.values() for e in errors)):
                flash(f"This version cannot be restored: {message}", "error")
            return redirect(history)

        return self.attempt(Attempt(edit, form, row, again, filled_in=False))

    # --- The steps of an edit

    def _row(self, key: int) -> ShownRow | None:
        row_id = self.row_id(key)
        return None if row_id is None else show_row(current(Database), self.of.name, row_id)

    def shown_row(self, key: int) -> ShownRow:
        """The row of a page.

        :raises NotFound: there is none.
        """
        row = self._row(key)
        if row is None:
            abort(404)
        return row

    def _form(self, row: ShownRow | None) -> RowForm:
        if row is None:
            return self.row_form()
        return self.row_form(
            row=row.values, locked=locked_fields(current(Database), self.of.name, row.values)
        )

    def _submitted(self, form: RowForm, row: ShownRow | None, row_id: int | None) -> ResponseReturnValue:
        """The form that was posted: shown again with its errors, previewed, or saved."""

        def again(form: PreviewedForm) -> ResponseReturnValue:
            return self._form_page(form, row)

        if not form.validate() or form.back.data:
            return self._form_page(form, row), 400 if form.form_errors else 200
        edit = Edit(self.of.name, row_id, form.values(), form.fingerprint.data)
        return self.attempt(Attempt(edit, form, row, again))

    def attempt(self, on: Attempt) -> ResponseReturnValue:
        try:
            if (made := saved(on.form, on.edit)) is not None:
                return after_saving(made, self.page_after(on.edit))
            return self._preview_page(previewed(on.form, on.edit), on)
        except Invalid as refused:
            on.form.add_errors(refused.errors)
            return on.again(on.form)
        except Conflict as refused:
            return self._conflict_page(refused, on)
        except InUse as refused:
            subject = row_title(self.one, on.row.values if on.row else {})
            return self.render(
                "console/network/in_use.html", refused=refused, link=links_of_users(), subject=subject
            )

    def _form_page(self, form: PreviewedForm, row: ShownRow | None) -> str:
        if row is not None and form.fingerprint.data is None:
            form.fingerprint.data = row.fingerprint
        key = page_key(self.of, row.row) if row else None
        return self.render(
            self.form_template,
            form=form,
            row=row,
            key=key,
            decimals=decimals_by_pool(),
            facts=self.side_tables(row.row) if row else (),
            **(self.more_about(key, row.values) if row and key and request.method != "POST" else {}),
        )

    def _preview_page(self, preview: Preview, on: Attempt) -> ResponseReturnValue:
        if not preview.changes:
            flash("Nothing was changed, so there is nothing to save.", "warning")
            return on.again(on.form)
        values = {**(on.row.values if on.row else {}), **(on.edit.values or {})}
        return self.render(
            "console/network/preview.html",
            preview=preview,
            subject=row_title(self.one, values),
            lines=self._in_words(values, preview.differences),
            form=on.form,
            removing=on.edit.values is None,
            adding=on.edit.row_id is None,
            form_is_filled_in=on.filled_in,
        )

    def _conflict_page(self, refused: Conflict, on: Attempt) -> str:
        now = self.of.with_defaults(on.row.values) if on.row else {}
        own, seen = on.edit.values or {}, shown_values(on.edit.shown)
        shown = self.of.with_defaults(seen or {})
        changed = {key: now[key] for key in own if on.row and own[key] not in (now[key], shown.get(key, ...))}
        return self.render(
            "console/network/conflict.html",
            refused=refused,
            meanwhile=self._in_words(now, refused.meanwhile),
            own=self._in_words(now, difference(changed, {key: own[key] for key in changed})),
            row=on.row,
            key=page_key(self.of, on.row.row) if on.row else None,
            again=None if seen is None else self._own_texts(on, shown),
        )

    @staticmethod
    def _own_texts(on: Attempt, shown: Mapping[str, Any]) -> dict[str, str]:
        """The typed texts of the fields that the operator changed, to be applied to the present row."""
        own = on.edit.values or {}
        changed = {
            STATE if key in STOPS else key for key, value in own.items() if value != shown.get(key, ...)
        }
        inputs = (field for key in changed if key in on.form for field in inputs_of(on.form[key]))
        return {field.name: field.text for field in inputs} if on.filled_in else {}

    def _in_words(self, values: Mapping[str, Any], differences: Iterable[FieldDifference]) -> list[DiffLine]:
        """Differences in the words of the form. ``values`` have the chains and the token of the row."""
        return self.row_form(formdata=None, row=values).in_words(differences)
