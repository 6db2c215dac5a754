"""Numbers of rows, as addresses and forms give them: the one place that says which texts are one."""

from __future__ import annotations

from typing import Any, Final

from flask import Flask
from werkzeug.routing import IntegerConverter, ValidationError

LARGEST_ID: Final = (1 << 63) - 1
"""The largest that both databases hold."""

_LONGEST: Final = len(str(LARGEST_ID))


def read_id(text: str) -> int | None:
    """The number in a text; None where it is none, or larger than any row has."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST:
        return None
    number = int(text)
    return number if number <= LARGEST_ID else None


class IdConverter(IntegerConverter):
    """A number in an address. Where no row can have it, there is no such page."""

    def to_python(self, value: str) -> Any:
        number = read_id(value)
        if number is None:
            raise ValidationError
        return number


def register(app: Flask) -> None:
    """Let ``<int:…>`` in the console's addresses take numbers of rows alone."""
    app.url_map.converters["int"] = IdConverter
