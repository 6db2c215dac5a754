"""The network document: exported, compared with the configuration, and applied in part or as a whole."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from flask import Response, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_wtf.file import FileField
from msgspec import Struct
from wtforms import HiddenField, ValidationError

from app.audit.previews import Preview
from app.audit.rules.records import AuditedChange, changes_text
from app.audit.services import Conflict, Saved, fingerprint
from app.console.network.change_words import MOST_LINES, DescribedChange, changes_page, described_change
from app.console.network.previewed import PreviewedForm, saved_or_previewed
from app.console.shell.access import READ, Access, Audience
from app.console.shell.formats import sentence
from app.console.shell.forms.fields import LongTextField, packed
from app.console.shell.forms.numbers import written_time
from app.console.shell.row_pages import ROWS
from app.console.shell.views import ConsoleView, after_saving, download
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading_consistently
from app.http.application import current
from app.json_documents import UnreadableJson, loads
from app.network.changes import Change, audited
from app.network.document import NetworkRefused, changes_between, export_network, read_document
from app.network.edits.entered import Edits
from app.network.edits.plan import SECTION_BY_NAME, Edit
from app.network.edits.refusals import FieldError, InUse, Invalid, counted
from app.network.history import BeforeTheLog, NetworkAt, network_at
from app.network.queries import load_rows
from app.network.sections import SECTIONS
from app.values.amounts import grouped
from app.values.json_values import read_time


class Comparison(Struct, frozen=True):
    """The rows that differ, as they are now and as the document has them, in the document's order.

    ``fingerprint`` is of all of them.
    """

    sections: Mapping[str, Sequence[AuditedChange]]
    count: int
    fingerprint: str


class Picked(Struct, frozen=True):
    """The picked differences: rows by their names, and whole sections."""

    subjects: Collection[str]
    sections: Collection[str] = ()

    def takes(self, change: Change) -> bool:
        subject = change.section.describe(change.row)
        return change.section.name in self.sections or subject in self.subjects


def compare_document(database: Database, text: bytes) -> Comparison:
    """The differences between the document and the configuration. Nothing is written.

    :raises NetworkRefused: it is no network document, with every error of the first stage that has any.
    """
    changes = _changes(database, text)
    changed = audited(changes)
    sections: dict[str, list[AuditedChange]] = {}
    for change, each in zip(changes, changed, strict=True):
        sections.setdefault(change.section.name, []).append(each)
    return Comparison(sections, len(changed), _fingerprint(changed))


def picked_edits(database: Database, text: bytes, picked: Picked, *, shown: str) -> Edits:
    """The edits that apply the picked differences of the document.

    :param shown: the fingerprint of the comparison from which it was picked.
    :raises NetworkRefused: as for the comparison.
    :raises Conflict: the configuration was changed since then.
    :raises Invalid: nothing is picked.
    """
    changes = _changes(database, text)
    if _fingerprint(audited(changes)) != shown:
        raise Conflict("the configuration was changed while you were editing; select again", ())
    edits = tuple(_edit(change) for change in in_turns(changes) if picked.takes(change))
    if not edits:
        raise Invalid([FieldError("", "Select at least one difference")])
    words = f"apply {grouped(len(edits))} of {counted(len(changes), 'difference')} of a network document"
    return Edits(edits, "network.import", words, about="network document", as_document=True)


def _edit(change: Change) -> Edit:
    section, before, after = change.section, change.before, change.after
    values = None if after is None else section.written_out(after)
    if before is None:
        return Edit(section.name, None, values)
    return Edit(section.name, before["id"], values, fingerprint(section.documented(before)))


def _changes(database: Database, text: bytes) -> list[Change]:
    document = read_document(text)
    with reading_consistently(database.engine) as connection:
        present = {section.name: load_rows(connection, section.model) for section in SECTIONS}
    return changes_between(present, document)


def _fingerprint(changed: Sequence[AuditedChange]) -> str:
    return hashlib.sha256(changes_text(changed).encode()).hexdigest()


LARGEST_DOCUMENT: Final = 8 * 1024 * 1024
"""Bytes of a document: a hundred thousand blocked addresses take about as much."""

LARGEST_FORM: Final = 4 * LARGEST_DOCUMENT
"""Bytes of a form that sends a document again: each quotation mark takes three."""


class DocumentForm(PreviewedForm):
    """A network document, as a file or pasted."""

    file = FileField("File", render_kw={"accept": ".json,application/json"})
    text = LongTextField("Or paste the document")

    def validate_text(self, field: LongTextField) -> None:
        """Use the file where there is one."""
        if self.file.data:
            content = self.file.data.stream.read(LARGEST_DOCUMENT + 1)
            try:
                field.text = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise ValidationError("The file is not UTF-8 text. Choose a network document.") from None
        if not field.text.strip():
            raise ValidationError("Choose a file, or paste a network document.")
        if len(field.text) > LARGEST_DOCUMENT:
            raise ValidationError(
                f"The document is longer than {grouped(LARGEST_DOCUMENT)} characters. "
                "Use the command line instead."
            )

    @property
    def document(self) -> bytes:
        """The document. Only after ``validate`` was true."""
        return self.text.text.strip().encode("utf-8", "replace")


class ApplyForm(DocumentForm):
    """The picked differences of a document."""

    row = HiddenField()
    whole = HiddenField()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        del self.file
        self.picked = Picked(frozenset(request.form.getlist("row")), frozenset(request.form.getlist("whole")))

    def validate_text(self, field: LongTextField) -> None:
        """The document comes from the page before."""
        if not field.text.strip() or len(field.text) > LARGEST_DOCUMENT:
            raise ValidationError("The document is missing. Compare it again.")


_LONGEST: Final = 64


def network_at_typed_time() -> tuple[str, NetworkAt | None]:
    """The time in the address as typed, and the configuration then; None if that cannot be shown."""
    text, at = _typed_time()
    if at is None:
        return text, None
    try:
        return text, network_at(current(Database), at)
    except BeforeTheLog as refused:
        flash(sentence(str(refused)), "warning")
        return text, None


def _typed_time() -> tuple[str, datetime | None]:
    """The time in the address: as typed, and as read. None, with a message, where it is not a time."""
    text = request.args.get("time", "").replace("\0", "").strip()[:_LONGEST]
    written = written_time(text)
    if written is None:
        return text, None
    try:
        at = read_time(written)
    except ValueError:
        flash(f"“{text[:60]}” is not a time. Enter one such as 2026-01-31 18:00.", "warning")
        return text, None
    if at > current(Database).clock():
        flash("That time is in the future. Enter a past time.", "warning")
        return text, None
    return text, at


_ONE_BY_ONE: Final = 100
"""Up to so many rows of a section are picked one by one. More are picked together."""

_ONE_BY_ONE_IN_ALL: Final = 200
"""Rows of the sections whose rows are picked one by one; the sections after them are picked together."""

_FIRST: Final = 10
"""So many rows of a section are listed where they are picked together. The preview shows all, by page."""
_MOST_ERRORS: Final = 50
_LONGEST_SHOWN: Final = 100_000
"""Characters of a refused document that the form has again. A longer one is chosen as a file again."""


class DocumentView(ConsoleView):
    """The whole configuration as a file. Everybody may read and compare it; administrators may apply one."""

    section = "Network"
    largest_form = LARGEST_FORM
    access = {
        "index": READ,
        "export": READ,
        "at": READ,
        "compare": Access(Audience.NOBODY, Audience.VIEWER),
        "apply": Access(Audience.NOBODY, Audience.ADMIN, sensitive=True),
    }

    @expose("/")
    def index(self) -> str:
        return self.render("console/document/index.html", form=DocumentForm(formdata=None))

    @expose("/network.json")
    def export(self) -> Response:
        return download(export_network(current(Database)), "application/json", "network.json")

    @expose("/compare", methods=("POST",))
    def compare(self) -> ResponseReturnValue:
        form = DocumentForm()
        if not form.validate():
            return self.render("console/document/index.html", form=form), 400
        return self._compare(form, form.document)

    @expose("/at")
    def at(self) -> ResponseReturnValue:
        text, found = network_at_typed_time()
        if found is None:
            return redirect(url_for("history.at", time=text))
        return self._compare(DocumentForm(formdata=None), found.document, f"{found.at:%Y-%m-%d %H:%M:%S} UTC")

    @expose("/apply", methods=("POST",))
    def apply(self) -> ResponseReturnValue:
        form = ApplyForm()
        if not form.validate():
            flash("The form could not be read. Nothing was changed. Compare the document again.", "error")
            return redirect(url_for("document.index"))
        source = request.args.get("source", "")[:60]
        if form.back.data:
            return self._compare(form, form.document, source)
        try:
            shown = form.fingerprint.data or ""
            edits = picked_edits(current(Database), form.document, form.picked, shown=shown)
            outcome = saved_or_previewed(form, edits)
            if isinstance(outcome, Saved):
                return after_saving(outcome, url_for("document.index"))
            return self._preview(form, outcome)
        except (Conflict, InUse) as refused:
            form.form_errors += _with_names([f"Nothing was changed: {refused}."], form.document)
        except Invalid as refused:
            errors = [f"Nothing was changed: {error}." for error in refused.errors[:_MOST_ERRORS]]
            form.form_errors += _with_names(errors, form.document)
        except NetworkRefused:
            pass  # the comparison says why
        return self._compare(form, form.document, source)

    def _compare(self, form: DocumentForm, document: bytes, source: str = "") -> ResponseReturnValue:
        try:
            found = compare_document(current(Database), document)
        except NetworkRefused as refused:
            form = form if "file" in form else DocumentForm()  # what was to be applied is shown as typed
            if len(form.text.text) > _LONGEST_SHOWN:
                form.text.text = ""
            form.form_errors += _with_names(refused.errors[:_MOST_ERRORS], document)
            if len(refused.errors) > _MOST_ERRORS:
                form.form_errors.append(f"and {grouped(len(refused.errors) - _MOST_ERRORS)} further errors")
            return self.render("console/document/index.html", form=form), 400
        picked = getattr(form, "picked", None)
        return self.render(
            "console/document/compare.html",
            form=form,
            found=found,
            sections=_listed(found),
            text=packed(document.decode() + "\n"),
            source=source,
            picked=picked if picked is not None and (picked.subjects or picked.sections) else None,
        )

    def _preview(self, form: ApplyForm, preview: Preview) -> ResponseReturnValue:
        return self.render(
            "console/document/preview.html",
            form=form,
            preview=preview,
            page=changes_page(preview.audited),
            text=packed(form.text.text + "\n"),
            rows=[
                *((name, "row") for name in form.picked.subjects),
                *((n, "whole") for n in form.picked.sections),
            ],
        )


_ROW: Final = re.compile(r"\b([a-z_]+)\[(\d{1,7})\][\w.\[\]]*", re.ASCII)
"""Where in the document something is: ``tokens[5].decimal``."""

_LONGEST_NAME: Final = 200


def _with_names(errors: Sequence[str], text: bytes) -> list[str]:
    """Errors of a document. Each says which row it is about, with the place in the document behind it."""
    try:
        document = loads(text)
    except UnreadableJson:
        return list(errors)

    def named(place: re.Match[str]) -> str:
        try:
            row = document[place[1]][int(place[2])]
            name = SECTION_BY_NAME[place[1]].describe(row)
        except (LookupError, TypeError, AttributeError):
            return place[0]  # the row is not one, or has no name yet
        return f"{name[:_LONGEST_NAME]} ({place[0]})"

    return [_ROW.sub(named, error) for error in errors]


class ListedSection(Struct, frozen=True):
    """A section of the comparison, with the rows that the page lists.

    ``one_by_one``: its rows are picked one by one, otherwise all together.
    """

    name: str
    count: int
    rows: Sequence[DescribedChange]
    one_by_one: bool


def _listed(found: Comparison) -> list[ListedSection]:
    """The sections as the page lists them. Only the first rows of the page have their fields."""
    sections, listed, shown = [], 0, 0
    for name, changes in found.sections.items():
        one_by_one = len(changes) <= min(_ONE_BY_ONE, _ONE_BY_ONE_IN_ALL - listed)
        rows = changes if one_by_one else changes[:_FIRST]
        described = [
            described_change(change, MOST_LINES if shown + number < ROWS else 0)
            for number, change in enumerate(rows)
        ]
        sections.append(ListedSection(name, len(changes), described, one_by_one))
        listed, shown = listed + (len(rows) if one_by_one else 0), shown + len(rows)
    return sections
