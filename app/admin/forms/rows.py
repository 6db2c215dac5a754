"""A form about one row of the network document, and differences between rows in the form's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from wtforms import Field, FormField
from wtforms.utils import unset_value

from app.admin.forms.base import PreviewedForm, inputs_of
from app.admin.forms.fields import RateField, TextValueField, locate
from app.admin.forms.pair_tokens import PairTokenField
from app.domain.difference import FieldDifference

VALUES: Final = (TextValueField, RateField, PairTokenField)
"""The types of fields that are keys of the row."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A difference in the form's words; human units and names stand beside the bare values."""

    label: str
    before: str | None
    after: str | None
    before_hint: str
    after_hint: str


class RowForm(PreviewedForm):
    """The fields of one section. A field is named like the key of the row that it edits.

    :param row: the row as the document writes it; None for a new one, which starts with the defaults.
    :param locked: keys that cannot be changed, with the reason.
    """

    partial = True
    """A field that is not sent keeps its value."""

    def __init__(
        self, *, row: Mapping[str, Any] | None = None, locked: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        self.row = row or {}
        self.locked = locked or {}
        super().__init__(data=self.row, **kwargs)

    def validate(self, extra_validators: Any = None) -> bool:
        if super().validate(extra_validators):
            return True
        if self.form_errors:  # it says that the page is to be loaded again: show what that would show
            for key, field in self._row_fields():
                field.process(None, self.row.get(key, unset_value))
            self.settle()
        return False

    def values(self) -> dict[str, Any]:
        """The values that were sent, by the document's keys."""
        return {
            key: field.data
            for key, field in self._row_fields()
            if any(each.raw_data for each in inputs_of(field))
        }

    def in_words(self, differences: Iterable[FieldDifference]) -> list[DiffLine]:
        """Differences with the labels of the form."""
        return [self._line(each) for each in differences]

    def _row_fields(self) -> list[tuple[str, Field]]:
        return [(field.short_name, field) for field in self if isinstance(field, VALUES)]

    def _line(self, each: FieldDifference) -> DiffLine:
        ends = [at for at in (each.field.find("."), each.field.find("[")) if at >= 0]
        at = min(ends, default=len(each.field))
        key, part = each.field[:at], each.field[at:]
        compound = key in self and isinstance(self[key], FormField)
        if key not in self or (compound and part.removeprefix(".") not in self[key].form):
            return DiffLine(each.field, each.before, each.after, "", "")
        field, place = locate(self[key], each.field)
        label = field.label.text
        if place:
            label += f", {place}"
        elif part and not compound:
            label += f", {part.lstrip('.')}"
        before, after = (
            (None, "") if text is None else field.in_words(text, part) for text in (each.before, each.after)
        )
        return DiffLine(label, before[0], after[0], before[1], after[1])
