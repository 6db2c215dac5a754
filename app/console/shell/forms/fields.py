"""Fields whose values are typed as text: shown again as typed, read into values of the network document.

A field only checks whether a text can be such a value. The document's schema decides whether the value is
allowed, when a service plans the edit.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from markupsafe import Markup
from wtforms import Field, Form, FormField
from wtforms.fields.choices import Choice, SelectFieldBase
from wtforms.meta import DefaultMeta
from wtforms.validators import StopValidation
from wtforms.widgets import CheckboxInput, Select, TextArea, TextInput

from app.console.shell.forms.numbers import number_text, whole_digits, without_spaces

_ITEM: Final = re.compile(r"\w+\[(\d+)\](?:\.(\w+))?")
_LONGEST_SECONDS: Final = 13


class FieldIds(DefaultMeta):
    """Inputs have ids such as ``field-symbol``, which no other element of a page has."""

    def bind_field(self, form: Form, unbound_field: Any, options: dict[str, Any]) -> Field:
        return unbound_field.bind(form=form, id=f"field-{options['prefix']}{options['name']}", **options)


class TextValueField(Field):
    """A value typed as text. ``text`` is what was typed, or the text of the row's value.

    Subclasses read the text with ``parse``, which raises ``ValueError`` with words for the operator, and
    write the value with ``format``. A field that is not sent has an empty text; in a form with ``partial``
    its value does not change.

    :param needed: whether an empty text is refused.
    :param only_for: another field of the form, and its choice with which this one counts.
    """

    widget = TextInput()
    attributes: Mapping[str, str] = {"autocomplete": "off", "spellcheck": "false"}
    choices: Callable[[], Choices] = staticmethod(list)

    def __init__(
        self, label: str | None = None, description: str = "", *, needed: bool = True,
        only_for: tuple[str, str] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(label, description=description, render_kw=dict(self.attributes), **kwargs)
        self.needed, self.only_for = needed, only_for
        self.its_form: Any = kwargs.get("_form")
        """The form that the field belongs to, as wtforms passes it to every field."""

    is_input = True
    """Whether the field is itself an input, not only a table of inputs."""

    @property
    def companions(self) -> Iterable[TextValueField]:
        """Further inputs that the value is made of; the page shows them with this one."""
        return ()

    def settle(self) -> None:
        """Read what depends on other fields of the form, once all of them have their texts."""

    def complain(self, *messages: str) -> None:
        """Add errors of what was typed, before the form is validated."""
        self.process_errors.extend(messages)

    def parse(self, text: str) -> Any:
        """The value of a text.

        :raises ValueError: the text is no such value.
        """
        return text

    def format(self, value: Any) -> str:
        return "" if value is None else str(value)

    def process_data(self, value: Any) -> None:
        self.data, self.text = value, self.format(value)

    def process_formdata(self, valuelist: list[str]) -> None:
        if valuelist or not getattr(self.its_form, "partial", False):
            self.text = valuelist[-1] if valuelist else ""
            self.data = self.parse(self.text)

    def pre_validate(self, form: Form) -> None:
        if self.only_for is not None and form[self.only_for[0]].text != self.only_for[1]:
            self.errors.clear()
            raise StopValidation

    def _value(self) -> str:
        return self.text

    @property
    def sent_again(self) -> str:
        """The text as a preview sends it again."""
        return self.text

    @property
    def called(self) -> str:
        """The text, or the label of the chosen choice."""
        return dict(self.choices()).get(self.text, self.text)

    @property
    def under(self) -> str:
        """The line under the text of a field that cannot be changed."""
        return f"= {self.hint}" if self.hint else ""

    @property
    def counts_with(self) -> tuple[str, str] | None:
        """The name of the input, and its value, with which this one counts."""
        return self.only_for and (self.its_form[self.only_for[0]].name, self.only_for[1])

    @property
    def hint(self) -> str:
        """The text in human units where they are known; shown below the input."""
        return self.hint_for(self.text)

    def hint_for(self, text: str, part: str = "") -> str:
        """A value of the field in human units or names.

        :param part: the part of the value that is meant, such as ``[1].ppm``.
        """
        return ""

    def in_words(self, text: str, part: str = "") -> tuple[str, str]:
        """A value of the field as differences show it: the main text, and the line under it."""
        return text, self.hint_for(text, part)

    def place(self, path: str) -> str:
        """Which part of the value a path such as ``deposit_contracts[1]`` is about; empty for all of it."""
        item = _ITEM.match(path)
        return f"line {int(item[1]) + 1}" if item is not None else ""


def bound_field(kwargs: Mapping[str, Any], *suffixes: object) -> dict[str, Any]:
    """The arguments that bind a companion: the form of its field, and a name and an id made of the field's.

    :param kwargs: the arguments that bind the field itself.
    :param suffixes: parts of the name, each after an underline; of the id, after a hyphen.
    """
    name = "_".join(map(str, (kwargs["name"], *suffixes)))
    shared = {key: kwargs[key] for key in ("_form", "_translations", "_meta") if key in kwargs}
    return {"name": name, "id": "-".join(map(str, (kwargs["id"], *suffixes))), **shared}


class LineField(TextValueField):
    """A line of text, without spaces at its ends."""

    complaint = "enter a value"

    def parse(self, text: str) -> str:
        if self.needed and not text.strip():
            raise ValueError(self.complaint)
        return text.strip()


class NoteField(TextValueField):
    """A text of several lines that may be empty."""

    widget = TextArea()
    attributes: Mapping[str, str] = {"spellcheck": "false", "rows": "3"}

    def parse(self, text: str) -> str:
        return text.replace("\r\n", "\n").replace("\r", "\n").strip()


class LongTextField(NoteField):
    """A text that may have megabytes, such as a document. Previews send it again compressed."""

    def process_formdata(self, valuelist: list[str]) -> None:
        super().process_formdata([unpacked(text) for text in valuelist])

    @property
    def sent_again(self) -> str:
        return packed(self.text)


_PACKED: Final = "zlib,"
_LEAST_PACKED: Final = 4096
_MOST_UNPACKED: Final = 32 * 1024 * 1024


def packed(text: str) -> str:
    """A long text as a page sends it again: compressed, in letters and digits. A short one as it is."""
    if len(text) < _LEAST_PACKED:
        return text
    return _PACKED + base64.b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def unpacked(text: str) -> str:
    """The text of :func:`packed`; any other text as it is."""
    if not text.startswith(_PACKED):
        return text
    try:
        raw = base64.b64decode(text.removeprefix(_PACKED), validate=True)
        return zlib.decompressobj().decompress(raw, _MOST_UNPACKED).decode()
    except (binascii.Error, zlib.error, ValueError):
        return text


class _FlagInput(CheckboxInput):
    """A checkbox with a hidden input before it, whose value is sent when the box is empty."""

    def __call__(self, field: Field, **kwargs: Any) -> Markup:
        absent = Markup('<input type="hidden" name="{}" value="0">').format(field.name)
        return absent + super().__call__(field, value="1", **kwargs)


class FlagField(TextValueField):
    """Yes or no."""

    widget = _FlagInput()
    attributes: Mapping[str, str] = {}

    @property
    def checked(self) -> bool:
        return self.text == "1"

    def parse(self, text: str) -> bool:
        return text == "1"

    def format(self, value: Any) -> str:
        return "1" if value else "0"


class DigitsField(TextValueField):
    """Digits, which may be grouped by spaces."""

    attributes: Mapping[str, str] = {**TextValueField.attributes, "inputmode": "numeric"}
    complaint = "enter a whole number, digits only"

    def digits(self, text: str) -> str | None:
        """The digits; None for an empty text where it is allowed."""
        if not self.needed and not without_spaces(text):
            return None
        digits = whole_digits(text)
        if digits is None:
            raise ValueError(self.complaint)
        return digits


class WholeField(DigitsField):
    """A whole number."""

    def parse(self, text: str) -> int | None:
        digits = self.digits(text)
        if digits is not None and len(digits) > 20:
            raise ValueError("the number is too large")
        return None if digits is None else int(digits)


class SecondsField(TextValueField):
    """A number of seconds."""

    attributes: Mapping[str, str] = {**TextValueField.attributes, "inputmode": "decimal"}
    complaint = "Enter a number of seconds, such as 5 or 0.5."

    def parse(self, text: str) -> float:
        try:
            number = number_text(text, "0.5")
        except ValueError:
            raise ValueError(self.complaint) from None
        if len(number) > _LONGEST_SECONDS:  # a float would not hold all digits
            raise ValueError(self.complaint)
        return float(number) if "." in number else int(number)


class ChoiceField(TextValueField, SelectFieldBase):
    """One of the ``choices``, which are found when the page is requested.

    :param empty: the label of no choice; without one, "Choose …" is offered until something is chosen.
    :param choices: choices that never change.
    :param complaint: the error for any other value.
    """

    widget = Select()
    attributes: Mapping[str, str] = {}
    complaint: str = ""

    def __init__(
        self, label: str, description: str = "", *, empty: str | None = None,
        choices: Choices | None = None, complaint: str = "", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(label, description, **kwargs)
        self.empty = empty
        if choices is not None:
            self.choices = lambda: choices
        self.complaint = complaint or self.complaint

    def iter_choices(self) -> Iterator[Choice]:
        choices = self.choices()
        if self.empty is not None or self.text not in dict(choices):
            yield Choice("", self.empty or "Choose …", False, {})
        for value, label in choices:
            yield Choice(value, label, value == self.text, {})

    def parse(self, text: str) -> Any:
        if text not in dict(self.choices()):
            raise ValueError(self.complaint)
        return text


def locate(field: Field, path: str) -> tuple[Field, str]:
    """The input that a path of the document is about, and which part of it.

    :param path: such as ``rate.value`` or ``perc_fee_tiers[1].ppm``.
    """
    if isinstance(field, FormField):
        part = path.partition(".")[2]
        return field.form[part] if part in field.form else next(iter(field.form)), ""
    return field, field.place(path)


Choices = list[tuple[str, str]]
"""Values of a select and their labels."""
