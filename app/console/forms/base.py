"""The base of the console's forms: no unexpected fields, and errors of the services beside their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from flask_wtf import FlaskForm
from wtforms import Field, FormField, HiddenField, StringField, SubmitField

from app.accounts.services.proposals import LONGEST_REASON
from app.console.caller import unexpected_field_complaint
from app.console.forms.amounts import WithUnit
from app.console.forms.fields import FieldIds, TextValueField, locate
from app.network.edits.results import FieldError
from app.network.edits.saving import LONGEST_NOTE

REASON: Final[Mapping[str, Any]] = {
    "label": "Reason",
    "description": "Shown to the person who approves, and kept in the audit log.",
    "render_kw": {"autocomplete": "off", "maxlength": str(LONGEST_REASON)},
}
"""The field for the reason of a change that waits for a second operator."""


class ConsoleForm(FlaskForm):
    """A form that refuses fields which are not its own.

    It has no CSRF field: ``access.guard`` checks the token before the view runs, and templates write it
    with ``parts.token()``.
    """

    class Meta:
        """Settings that WTForms reads."""

        csrf = False

    locked: Mapping[str, str] = {}
    """Fields that cannot be changed, with the reason. They are shown, and unexpected when they are sent."""

    def process(self, *args: Any, **kwargs: Any) -> None:
        super().process(*args, **kwargs)
        self.settle()

    def settle(self) -> None:
        """Let fields read what depends on others, such as the decimals of an amount."""
        for field in self.value_lines():
            field.settle()

    def inputs(self) -> Iterator[Field]:
        """Every input that may be sent, in order; those of a compound field one by one."""
        for field in self._open_fields():
            yield from inputs_of(field)

    def value_lines(self) -> list[TextValueField]:
        """The fields that hold values, each with a line of its own on the page, locked ones too."""
        lines = (line for field in self for line in lines_of(field))
        return [line for line in lines if isinstance(line, TextValueField)]

    def open_lines(self) -> list[TextValueField]:
        """The lines of fields that can be changed."""
        lines = (line for field in self._open_fields() for line in lines_of(field))
        return [line for line in lines if isinstance(line, TextValueField)]

    def _open_fields(self) -> list[Field]:
        return [field for field in self if field.short_name not in self.locked]

    def value_inputs(self) -> list[TextValueField]:
        """The inputs that hold values, without the buttons and hidden fields of ``PreviewedForm``."""
        return [field for field in self.inputs() if isinstance(field, TextValueField)]

    def texts(self) -> dict[str, str]:
        """What was typed, for a preview to hand on."""
        return {field.name: field.text for field in self.value_inputs()}

    def validate(self, extra_validators: Any = None) -> bool:
        if complaint := unexpected_field_complaint(field.name for field in self.inputs()):
            self.form_errors.append(complaint)
            return False
        return super().validate(extra_validators)

    def add_errors(self, errors: Iterable[FieldError]) -> None:
        """Put what a service finds wrong beside the inputs that it is about."""
        for error in errors:
            key = "id" if error.field == "chain_id" and "id" in self else error.field
            if key not in self:
                self.form_errors.append(str(error))
                continue
            field, place = locate(self[key], error.path)
            field.errors = [*field.errors, f"{place}: {error.message}" if place else error.message]


class PreviewedForm(ConsoleForm):
    """A form whose effects are shown before they are saved: it is sent for the preview, then once more.

    ``fingerprint`` is that of what the operator was shown (``audit/services.py``); its data is
    None where none was sent. ``typed`` is the name that grave changes ask to type, ``proposal_reason`` why
    a change is proposed that waits for a second operator, ``note`` a remark for the audit log.
    ``decimals_shown`` are those that the amounts of the preview were read with; empty before there was one.
    """

    Meta = FieldIds
    fingerprint = HiddenField(name="seen")
    decimals_shown = HiddenField()
    proposal_reason = StringField(**REASON)
    note = StringField(
        "Note",
        description="Optional. Kept with this change in the audit log.",
        render_kw={"autocomplete": "off", "maxlength": str(LONGEST_NOTE)},
    )
    confirm = SubmitField()
    back = SubmitField()
    typed = StringField(render_kw={"autocomplete": "off", "spellcheck": "false"})

    def texts(self) -> dict[str, str]:
        decimals = self._decimals()
        return super().texts() | ({self.decimals_shown.name: decimals} if decimals else {})

    @property
    def as_previewed(self) -> bool:
        """Whether the amounts that are confirmed are those of the preview.

        They are sent in whole tokens, whose decimals somebody may have changed since.
        """
        return self.decimals_shown.data in (None, "", self._decimals())

    def _decimals(self) -> str:
        units = {
            line.name: line.unit.unit.decimals for line in self.open_lines() if isinstance(line, WithUnit)
        }
        return " ".join(f"{name}:{decimals}" for name, decimals in units.items())

    def ask_to_type(self, name: str) -> None:
        """Let the field ``typed`` ask for this name."""
        self.typed.label.text = f"Type “{name}” to confirm"

    def fixed(self) -> dict[str, list[TextValueField]]:
        """The inputs that cannot be changed, by the reason."""
        found: dict[str, list[TextValueField]] = {}
        for field in self:
            if field.short_name in self.locked:
                found.setdefault(self.locked[field.short_name], []).extend(lines_of(field))
        return found


def lines_of(field: Field) -> Iterable[Field]:
    """The field, or those that a form within the form consists of."""
    return field.form if isinstance(field, FormField) else (field,)


def inputs_of(field: Field) -> Iterator[Field]:
    """Every input of the field, those beside another one included."""
    for line in lines_of(field):
        if not isinstance(line, TextValueField):
            yield line
            continue
        if line.is_input:
            yield line
        yield from line.companions
