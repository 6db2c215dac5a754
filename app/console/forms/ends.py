"""When a block or a pin ends: at a time, or some hours from now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from wtforms.utils import unset_value

from app.console.forms.fields import ChoiceField, TextValueField, bound_field
from app.console.forms.numbers import written_time
from app.db.database import Database
from app.http.application import current
from app.values.times import rfc3339

_PRESETS: Final = {
    "1h": (timedelta(hours=1), "in 1 hour"),
    "24h": (timedelta(hours=24), "in 24 hours"),
    "7d": (timedelta(days=7), "in 7 days"),
}


_HOW: Final = [*((key, label) for key, (_, label) in _PRESETS.items()), ("", "at a time")]
"""The usual spans from now; the last is the time that is typed."""


class EndField(TextValueField):
    """When something ends, as the network document writes times; an empty text is None.

    The page's script accepts it in the reader's time zone, like every time of the console. A span is counted
    from when the form is sent. The preview has the resulting time, and confirming uses the same.
    """

    attributes: Mapping[str, str] = {
        **TextValueField.attributes,
        "data-utc": "",
        "placeholder": "2027-01-31 18:00",
    }
    zoned = True

    def __init__(
        self, label: str = "Ends", description: str = "Leave empty for no end.", **kwargs: Any
    ) -> None:
        how = bound_field(kwargs, "in")
        self.preset = ChoiceField(
            f"{label}: how", default="", choices=_HOW, complaint="Choose one of these.", **how
        )
        super().__init__(label, description, **kwargs)

    @property
    def companions(self) -> Iterable[TextValueField]:
        return (self.preset,)

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        super().process(formdata, data, extra_filters)
        sent = formdata is not None and self.preset.name in formdata
        self.preset.process(formdata if sent else None)
        self.complain(*self.preset.process_errors)

    def settle(self) -> None:
        if self.preset.text in _PRESETS:
            after, _ = _PRESETS[self.preset.text]
            self.data = rfc3339(current(Database).clock() + after, "seconds")
            self.text, self.preset.text = self.format(self.data), ""

    def parse(self, text: str) -> str | None:
        return written_time(text)

    def format(self, value: str | None) -> str:
        return "" if value is None else value.replace("T", " ").removesuffix("Z")

    def in_words(self, text: str, part: str = "") -> tuple[str, str]:
        return ("none" if text == "null" else text), ""
