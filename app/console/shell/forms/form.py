"""The base of the console's forms: no unexpected fields, and errors of the services next to their fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from flask_wtf import FlaskForm
from wtforms import Field, FormField

from app.accounts.services.proposals import LONGEST_REASON
from app.console.shell.caller import unexpected_field_complaint
from app.console.shell.forms.fields import TextValueField, locate

REASON: Final[Mapping[str, Any]] = {
    "label": "Reason",
    "description": "Shown to the person who approves, and stored in the audit log.",
    "render_kw": {"autocomplete": "off", "maxlength": str(LONGEST_REASON)},
}
"""The field for the reason of a change. Only one that waits for a second operator needs it."""


class Fault(Protocol):
    """An error of a service about a value."""

    @property
    def field(self) -> str:
        """The field that the error is about; empty for the form as a whole."""

    @property
    def path(self) -> str:
        """The part of the value that it is about, such as ``perc_fee_tiers[1].ppm``."""

    @property
    def message(self) -> str:
        """The error in words."""


_NAME: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
"""A name of two or more words, as inputs and columns have."""


class ConsoleForm(FlaskForm):
    """A form that refuses fields which are not its own.

    It has no CSRF field: ``access.guard`` checks the token before the view runs, and templates write it
    with ``parts.token()``.
    """

    class Meta:
        """Settings that WTForms reads."""

        csrf = False

    locked: Mapping[str, str] = {}
    """Fields that cannot be changed, with the reason. They are shown, but refused when they are sent."""

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
        lines = (line for field in self._open_fields() for line in lines_of(field))
        return [line for line in lines if isinstance(line, TextValueField)]

    def _open_fields(self) -> list[Field]:
        return [field for field in self if field.short_name not in self.locked]

    def value_inputs(self) -> list[TextValueField]:
        """The inputs that hold values, without the buttons and hidden fields of ``PreviewedForm``."""
        return [field for field in self.inputs() if isinstance(field, TextValueField)]

    def texts(self) -> dict[str, str]:
        """What was typed, which a preview sends again."""
        return {field.name: field.sent_again for field in self.value_inputs()}

    def validate(self, extra_validators: Any = None) -> bool:
        if complaint := unexpected_field_complaint(field.name for field in self.inputs()):
            self.form_errors.append(complaint)
            return False
        return super().validate(extra_validators)

    def add_errors(self, errors: Iterable[Fault]) -> None:
        """Add each error of a service to the inputs that it is about."""
        for error in errors:
            key = "id" if error.field == "chain_id" and "id" in self else error.field
            if key not in self:
                self.form_errors.append(str(error))
                continue
            field, place = locate(self[key], error.path)
            message = _NAME.sub(self._labelled, error.message)
            field.errors = [*field.errors, f"{place}: {message}" if place else message]

    def _labelled(self, match: re.Match[str]) -> str:
        return f"“{self[match[0]].label.text}”" if match[0] in self else match[0]


def lines_of(field: Field) -> Iterable[Field]:
    """The field, or the fields of a form within the form."""
    return field.form if isinstance(field, FormField) else (field,)


def inputs_of(field: Field) -> Iterator[Field]:
    """Every input of the field, including companions of another one."""
    for line in lines_of(field):
        if not isinstance(line, TextValueField):
            yield line
            continue
        if line.is_input:
            yield line
        yield from line.companions
