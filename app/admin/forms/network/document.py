"""Forms about a whole network document: comparing one, and taking over what was picked of it."""

from __future__ import annotations

from typing import Any, Final

from flask import request
from flask_wtf.file import FileField
from wtforms import HiddenField, ValidationError

from app.admin.forms.base import PreviewedForm
from app.admin.forms.fields import NoteField
from app.domain.amounts import grouped
from app.services.network.edits.compare import Picked

LARGEST_DOCUMENT: Final = 8 * 1024 * 1024
"""Bytes of a document: a hundred thousand blocked addresses take about as much."""

LARGEST_FORM: Final = 4 * LARGEST_DOCUMENT
"""Bytes of a form that hands a document on: each quotation mark takes three."""


class DocumentForm(PreviewedForm):
    """A network document, as a file or pasted."""

    file = FileField("File", render_kw={"accept": ".json,application/json"})
    text = NoteField("Or paste the document")

    def validate_text(self, field: NoteField) -> None:
        """Take the file where there is one."""
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
    """What was picked of a document."""

    row = HiddenField()
    whole = HiddenField()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        del self.file
        self.picked = Picked(frozenset(request.form.getlist("row")), frozenset(request.form.getlist("whole")))

    def validate_text(self, field: NoteField) -> None:
        """The document comes from the page before."""
        if not field.text.strip() or len(field.text) > LARGEST_DOCUMENT:
            raise ValidationError("The document is missing. Compare it again.")
